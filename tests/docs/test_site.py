"""The documentation site; `make docs` builds it, and a warning is a failure there."""

import re
import tomllib

import heat_neo4j
from tests.docs.pages import PAGES
from tests.support.documents import ROOT


def test_the_reference_has_every_public_name_once():
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\.\. auto(?:class|function):: heat_neo4j\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(set(heat_neo4j.__all__) - {"__version__"})


def test_the_start_page_leads_to_every_page():
    listed = re.findall(r"^([\w./-]+)$", PAGES["docs/index.md"], re.MULTILINE)
    pages = {page.removeprefix("docs/").removesuffix(".md") for page in PAGES if page.startswith("docs/")}
    assert pages - {"index", "README"} <= set(listed)


def test_make_test_builds_it():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--jobs=2 quick-tests lint docs" in makefile
    assert "sphinx --fail-on-warning" in makefile
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    assert any(each.startswith("sphinx>") for each in groups["docs"])

"""The documentation site; `make docs` builds it, and a warning is a failure there."""

import re
import tomllib
from importlib import import_module

import pytest

import heat_neo4j
from heat_neo4j.cli import heat
from tests.docs import site
from tests.docs.pages import PAGES
from tests.docs.reference import parameters_of, public_types
from tests.docs.tables import table
from tests.support.documents import ROOT


def test_the_reference_has_every_public_name_once():
    listed = re.findall(r"^   (\w+)$", PAGES["docs/reference/api.md"], re.MULTILINE)
    assert sorted(listed) == sorted(set(heat_neo4j.__all__) - {"__version__"})


RETURNED = {name: module for name, module in public_types().items() if name not in heat_neo4j.__all__}


def test_the_types_that_methods_return_are_found():
    assert RETURNED.keys() >= {
        "Rows",
        "Neighbours",
        "Recommendations",
        "Estimate",
        "RefreshReport",
        "ServerInfo",
    }
    assert RETURNED["Evaluation"] == "heat_neo4j.evaluation"


@pytest.mark.parametrize("name", RETURNED)
def test_every_field_of_a_returned_type_is_described(name):
    returned = getattr(import_module(RETURNED[name]), name)
    described = {each for names in parameters_of(returned) for each in names.split(", ")}
    assert described == set(getattr(returned, "__dataclass_fields__", {}))


def test_the_table_of_commands_has_every_command_once():
    listed = re.findall(r"`(\w+)`", " ".join(table(PAGES["docs/command-line.md"], "## Commands").values()))
    assert sorted(listed) == sorted(heat.list_commands(None))


def test_make_test_builds_it():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--jobs=2 quick-tests lint docs" in makefile
    assert "sphinx --fail-on-warning" in makefile
    assert "-m tests.docs.site build/docs" in makefile
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    assert any(each.startswith("sphinx>") for each in groups["docs"])


FILES = {
    "index.html": '<meta http-equiv="refresh" content="0; url=docs/a.html#first">',
    "docs/a.html": '<link rel="stylesheet" href="../style.css?v=1"><h1 id="first"></h1><img src="a%20b.png">'
    '<a href="b.html#second"></a><a href="#first"></a>'
    '<a href="https://neo4j.com/x"></a><a href="mailto:a@b"></a>',
    "docs/b.html": '<p id="second"></p><script src="../code.js"></script>',
    "style.css": "p { background: url('back.png') }",
    "back.png": "12345", "code.js": "1234567", "docs/a b.png": "123",
}  # fmt: skip


def written(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return site.Site(folder)


def test_a_whole_site_has_nothing_broken_and_weighs_what_a_browser_loads(tmp_path):
    found = written(tmp_path, FILES)
    assert found.broken() == []
    size = {name: len(text) for name, text in FILES.items()}
    assert found.weights() == {
        "docs/a.html": size["docs/a.html"] + size["style.css"] + size["back.png"] + size["docs/a b.png"],
        "docs/b.html": size["docs/b.html"] + size["code.js"],
        "index.html": size["index.html"],
    }


@pytest.mark.parametrize(
    ("name", "right", "wrong", "line"),
    [
        ("index.html", "a.html#first", "a.html#last", "index.html: docs/a.html#last leads nowhere"),
        ("index.html", "docs/a", "docs/c", "index.html: docs/c.html#first leads nowhere"),
        ("docs/a.html", 'href="#first', 'href="#last', "docs/a.html: #last leads nowhere"),
        ("docs/a.html", "a%20b.png", "b.png", "docs/a.html: b.png leads nowhere"),
        ("docs/b.html", "code.js", "codes.js", "docs/b.html: ../codes.js leads nowhere"),
    ],
)
def test_an_address_that_leads_nowhere_is_told(name, right, wrong, line, tmp_path):
    assert right in FILES[name]
    found = written(tmp_path, FILES | {name: FILES[name].replace(right, wrong)})
    assert found.broken() == [line]


def test_a_page_that_is_too_heavy_fails(tmp_path, capsys):
    written(tmp_path, FILES)
    with pytest.raises(SystemExit, match="False"):
        site.main(tmp_path, ["first", "second"])
    with pytest.raises(SystemExit, match="True"):
        site.main(tmp_path, ["first", "Third"])
    assert capsys.readouterr().out.count("\nThird is described nowhere\n") == 1
    written(tmp_path, {"back.png": "x" * site.MOST_BYTES})
    with pytest.raises(SystemExit, match="True"):
        site.main(tmp_path)
    assert "docs/a.html: 500," in capsys.readouterr().out

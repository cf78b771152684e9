"""The documentation site: `make docs` builds it from the pages as they lie in the repository."""

import re
from pathlib import Path

from sphinx.application import Sphinx

from heat_neo4j import __version__

project = "heat_neo4j"
author = copyright = "The heat_neo4j authors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
]
# The source folder is the repository, so that links between pages are right there and on the site.
root_doc = "docs/index"
include_patterns = ["docs/**", "*.md", "cypher/README.md", "docker/README.md"]
exclude_patterns = ["docs/README.md", "README.md"]

nb_execution_mode = "off"  # `make notebooks` executes them, on a server
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
default_role = "py:obj"  # a name in a docstring leads to where it is described, if it is
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"  # the docstrings say them, with shapes and units
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "exclude-members": "get_metadata_routing, set_fit_request, set_transform_request",
}
suppress_warnings = ["misc.highlighting_failure"]  # of files and dialects that Pygments does not know

html_theme = "furo"
html_title = "heat_neo4j"
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_extra_path = ["site"]  # a page that leads from the top of the site to the first of docs/
html_copy_source = False
html_show_sourcelink = False
copybutton_exclude = ".linenos, .gp, .go"
linkcheck_ignore = [r"http://localhost", r"http://127\.0\.0\.1"]

_LIST = Path(__file__).with_name("README.md")


def _start_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the lists of README.md into the start page, and the pages that they name into the navigation."""
    if page == root_doc:
        app.env.note_dependency(_LIST)
        sections = re.split(r"^## (.*)\n", _LIST.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for caption, pages in zip(sections[::2], sections[1::2], strict=True):
            entries = re.sub(r"^- \[(.*?)\]\((\S+)\).*", r"\1 <\2>", pages.strip(), flags=re.MULTILINE)
            source[0] += f"\n## {caption}\n{pages}\n"
            source[0] += f"```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{entries}\n```\n"


def setup(app: Sphinx) -> None:
    """Have the start page read together with the list of pages."""
    app.connect("source-read", _start_page)

"""The documentation site: `make docs` builds it from the pages as they lie in the repository."""

import re
import shutil
from pathlib import Path

import click
from sphinx.application import Sphinx

from heat_neo4j import __version__
from heat_neo4j.cli import heat
from tests.docs.reference import public_types

project = "heat_neo4j"
author = copyright = "The heat_neo4j authors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
]
# The source folder is the repository, so that links between pages are right there and on the site.
root_doc = "docs/index"
include_patterns = ["docs/**", "*.md", "cypher/README.md", "docker/README.md"]
exclude_patterns = ["README.md", "docs/templates"]
templates_path = ["templates"]  # a page of the reference for each public name

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
html_logo = html_favicon = "static/logo.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["site"]  # a page that leads from the top of the site to the first of docs/
html_copy_source = False
html_show_sourcelink = False
copybutton_exclude = ".linenos, .gp, .go"
linkcheck_ignore = [r"http://localhost", r"http://127\.0\.0\.1"]

_PUBLIC = ("heat_neo4j", "heat_neo4j.evaluation")  # modules that the reference lists
_GENERATED = Path(__file__).parent / "reference" / "generated"
shutil.rmtree(_GENERATED, ignore_errors=True)  # a name that is gone has no page


def _start_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Make the lists of the start page, which it shows as cards, the navigation too."""
    if page == root_doc:
        for caption, pages in re.findall(r"^## (.*)\n\n((?:- .*\n)+)", source[0], re.MULTILINE):
            entries = re.sub(r"^- \[(.*?)\]\((\S+)\).*", r"\1 <\2>", pages, flags=re.MULTILINE)
            source[0] += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{entries}```\n"


def _command_pages(app: Sphinx) -> None:
    """Write a page for each command, as autosummary does for each public name."""
    _GENERATED.mkdir(exist_ok=True)
    for name in heat.list_commands(click.Context(heat)):
        title = f"heat {name}"
        home = heat.homes.get(name, name)
        directive = f".. click:: heat_neo4j.cli.commands.{home}:{name}\n   :prog: {title}\n   :nested: full\n"
        (_GENERATED / f"heat-{name}.rst").write_text(
            f"{title}\n{'=' * len(title)}\n\n{directive}", encoding="utf-8"
        )


def _type_pages(app: Sphinx) -> None:
    """Write a page for each type that methods return and that has no public name."""
    template = (Path(__file__).parent / "templates/autosummary/class.rst").read_text(encoding="utf-8")
    for name, module in public_types().items():
        if module not in _PUBLIC:
            page = template.replace("{{ objname | escape | underline }}", f"{name}\n{'=' * len(name)}")
            page = page.replace("{{ module }}", module).replace("{{ objname }}", name)
            (_GENERATED / f"type-{name}.rst").write_text(page, encoding="utf-8")


def _link_types(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Link the types that a docstring returns to their pages."""
    known = public_types()
    for place in range(2, len(lines)):
        if lines[place - 2] == "Returns":
            lines[place] = re.sub(
                r"\w+",
                lambda word: f"`~{known[word[0]]}.{word[0]}`" if word[0] in known else word[0],
                lines[place],
            )


def setup(app: Sphinx) -> None:
    """Build the navigation from the start page, and the pages of commands and types."""
    app.connect("builder-inited", _command_pages)
    app.connect("builder-inited", _type_pages)
    app.connect("autodoc-process-docstring", _link_types, priority=400)  # before napoleon formats it
    app.connect("source-read", _start_page)

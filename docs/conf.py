"""The documentation site: `make docs` builds it from the pages as they lie in the repository."""

from heat_neo4j import __version__

project = "heat_neo4j"
author = copyright = "The heat_neo4j authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
]
# The source folder is the repository, so that links between pages are right there and on the site.
root_doc = "docs/index"
include_patterns = ["docs/**", "*.md", "cypher/README.md", "docker/README.md"]
exclude_patterns = ["docs/README.md", "README.md"]

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
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
html_extra_path = ["site"]  # a page that leads from the top of the site to the first of docs/
html_copy_source = False
html_show_sourcelink = False
copybutton_exclude = ".linenos, .gp, .go"

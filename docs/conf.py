"""How Sphinx makes the site: `make docs`. Nothing is fetched at build time, and pages load nothing from elsewhere."""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "src")]

project = "modlm"
copyright = "the modlm authors"  # noqa: A001  # Sphinx calls it so
release = re.search(r'^version = "(.+)"$', (DOCS.parent / "pyproject.toml").read_text("utf-8"), re.MULTILINE)[1]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "extensions.commands",
    "extensions.docstrings",
    "extensions.reports",
]
exclude_patterns = ["_build"]
highlight_language = "text"

myst_enable_extensions = ["colon_fence", "deflist", "html_image"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
autodoc_type_aliases = {name: name for name in "AnyFloats Bools Floats Ids Ints Singles States Text Verify".split()}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"modlm {release}"
html_static_path = ["_static"]
html_css_files = ["modlm.css"]
html_favicon = "_static/icon.svg"
html_logo = "_static/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2a55c9", "color-brand-content": "#2a55c9"},
    "dark_css_variables": {"color-brand-primary": "#9db9ff", "color-brand-content": "#9db9ff"},
    "footer_icons": [],
}

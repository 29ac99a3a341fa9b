"""How Sphinx makes the site of these documents: `make docs`. It asks no network."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "deniable"
author = "the authors of deniable"
version = release = version_of("deniable")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "from_code",
]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]

# Links to headings are those of the plain files.
myst_heading_anchors = 4

autosummary_ignore_module_all = False
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
# As the code has it: evaluated, os.environ would be that of whoever builds the site.
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 88

html_theme = "furo"
html_title = "deniable"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_copyright = False
html_copy_source = False

# The fields of a class are described in its docstring ("Attributes:"), once.
napoleon_use_ivar = True

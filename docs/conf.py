"""How the documentation site is built: `make docs`. Nothing is fetched, then or by the pages."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import isotherm

project = "isotherm"
author = "The isotherm authors"
project_copyright = author
version = release = isotherm.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
html_math_renderer = "mathml"
exclude_patterns = ["examples"]
smartquotes = False  # "auto" is a value

# Markdown ----------------------------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "dollarmath", "html_image"]
# Links to headings, as a code host makes them.
myst_heading_anchors = 4
myst_update_mathjax = False

# Reference ---------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says the types in words
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
templates_path = ["_templates"]
default_role = "code"  # docstrings are Markdown in this one respect
numpydoc_show_class_members = False  # the template of a class lists them


def foreign(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Whether to leave a member out: what scikit-learn or Python defines is documented there."""
    value = getattr(value, "fget", None) or getattr(value, "__func__", value)
    home = getattr(value, "__module__", None) or ""
    return True if callable(value) and not home.startswith("isotherm") else None


# Files outside of docs/, and the pages that include them.
OUTSIDE = {
    "../benchmarks/README.md": "benchmark-scripts.md",
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contributing.md",
}


def linked(app: Any, page: str, source: list[str]) -> None:
    """Links that work on a code host lead to pages of the site.

    Links to examples lead to their pages. A comment `<!-- figure: plot_name 1 | text -->` becomes
    the first figure of an example.
    """
    text = re.sub(r"\]\(((?:\.\./)?)examples/(\w+)\.py\)", r"](\1auto_examples/\2.rst)", source[0])
    text = re.sub(r"\]\(((?:\.\./)?)examples/?\)", r"](\1auto_examples/index.rst)", text)
    for name, inside in OUTSIDE.items():
        text = text.replace(f"]({name})", f"]({inside})")
    source[0] = re.sub(
        r"<!-- figure: (\w+) (\d+) \| (.*?) -->",
        lambda m: f"![{m[3]}](auto_examples/images/sphx_glr_{m[1]}_{int(m[2]):03d}.png)",
        text,
    )


def setup(app: Any) -> None:
    """Hooks of this site."""
    app.connect("autodoc-skip-member", foreign)
    app.connect("source-read", linked)


# Look --------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "isotherm"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# Examples ----------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "backreferences_dir": "api/generated/examples",
    "doc_module": ("isotherm",),
    "image_scrapers": ("gallery",),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib\.figure",
    "within_subsection_order": "gallery.Order",
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
}

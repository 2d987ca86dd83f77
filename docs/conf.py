"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from reference_pages import write_reference

import discreet

project = "discreet"
author = "discreet developers"
copyright = "discreet developers, Apache-2.0"  # Sphinx calls it so
version = release = discreet.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
exclude_patterns = ["_build", "_templates", "examples", "pypi.md", "**.ipynb_checkpoints"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# Tutorials are executed when the site is built; a cell that fails, or takes long, fails the build.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True  # what a tutorial writes is not left in the project
nb_merge_streams = True

autosummary_generate = write_reference(Path(__file__).parent / "reference")
autodoc_typehints = "none"  # numpydoc's sections say it in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = "discreet"
html_theme_options = {
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False


def _skip(_app: object, _what: str, _name: str, thing: object, skip: bool, _options: object) -> bool | None:
    """Members that come from other packages are documented there."""
    home = getattr(getattr(thing, "fget", thing), "__module__", None)
    return True if home and not home.startswith("discreet") else None if not skip else True


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", _skip)  # type: ignore[attr-defined]

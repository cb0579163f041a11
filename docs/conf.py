"""The site: `make docs`.  Code cells run when it is built; an error in one ends the build."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from myst_nb.core import render

import cfxc

os.environ["CFXC_EXAMPLES"] = str(Path(__file__).parents[1] / "examples")  # for the tutorials

project = "cfxc"
author = "the cfxc authors"
version = release = cfxc.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # the core language has no lexer
exclude_patterns = ["_build", "**/jupyter_execute"]

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_merge_streams = True  # whose lines it would break where a chunk ends
coalesce = render.coalesce_streams


def whole(outputs: list[Any]) -> list[Any]:
    """Outputs with one stream of each name."""
    found, streams = list[Any](), dict[str, Any]()
    for output in outputs:
        if output["output_type"] != "stream":
            found.append(output)
        elif output["name"] in streams:
            streams[output["name"]]["text"] += output["text"]
        else:
            streams[output["name"]] = output
            found.append(output)
    merged: list[Any] = coalesce(found)
    return merged


render.coalesce_streams = whole

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = "cfxc"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

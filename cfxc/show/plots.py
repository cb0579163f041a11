"""What all pictures share: axes to draw on, colours, short texts, files.

The colours are Okabe and Ito's, which colour-blind people tell apart; beside them markers, hatches
and kinds of lines differ, so that pictures are read in grey as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from ..errors import DataTypeError, InvalidInputError, MissingExtraError
from ..writing import check_writable, written_whole

BLACK, BLUE, VERMILLION = "#000000", "#0072B2", "#D55E00"
ORANGE, SKY, GREEN, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#CC79A7"
COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK)
MARKERS = ("o", "D", "s", "^", "v", "P", "X")
LINES: Sequence[Any] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
INK, PALE, PALER = "0.35", "0.72", "0.86"
"""Greys: of small texts, of lines behind, of areas behind."""
SMALL = 8.0
"""Points, of texts within a picture."""
LETTER = 0.62 * SMALL / 72
"""Inches that a letter of such a text takes, about."""
ELLIPSIS = "…"
WORD = re.compile(r"[^\s_./-]+[\s_./-]*|[\s_./-]+")
HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
"""Where a word in camel case may be broken."""


def require(purpose: str) -> None:
    """Refuse where there is no matplotlib.

    Raises:
        MissingExtraError: ``purpose`` says what it is for.
    """
    if find_spec("matplotlib") is None:
        raise MissingExtraError("plot", "matplotlib", purpose)


def axes_for(
    purpose: str,
    ax: Any = None,
    *,
    size: tuple[float, float] = (5, 3),
    path: str | Path | None = None,
    layout: Literal["constrained"] | None = "constrained",
) -> Any:
    """The axes that are given, or new ones on a figure of ``size`` inches.

    A figure that goes to a file is not one of pyplot's, so that nothing shows it or keeps it.

    Raises:
        MissingExtraError: matplotlib is not installed; ``purpose`` says what it is for.
        DataTypeError: no axes.
    """
    require(purpose)
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    if isinstance(ax, Axes):
        return ax
    if ax is not None:
        raise DataTypeError(f"ax: axes of matplotlib, such as plt.subplots()[1], and not {ax!r}")
    if path is not None:
        return Figure(figsize=size, layout=layout).subplots()
    from matplotlib import pyplot

    return pyplot.figure(figsize=size, layout=layout).subplots()


def saved(axes: Any, path: str | Path | None) -> Any:
    """The axes, without lines above and to the right, and written to a file if a path is given.

    Raises:
        InvalidInputError: the file cannot be written, or matplotlib knows no such kind.
    """
    axes.spines[["top", "right"]].set_visible(False)
    if path is not None:
        check_writable(path)
        figure, kind = axes.get_figure(root=True), Path(path).suffix[1:].lower()
        kinds = figure.canvas.get_supported_filetypes()
        if kind not in kinds:
            raise InvalidInputError(f"{path}: a picture is .{', .'.join(sorted(kinds))}")
        with written_whole(path) as file:
            figure.savefig(file, dpi=200)
    return axes


def short(text: str, most: int) -> str:
    """At most so many letters: what is too long loses its middle."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return f"{text[:head].rstrip()}{ELLIPSIS}{text[len(text) - (most - 1 - head) :].lstrip()}"


def in_lines(text: str, width: int, most: int = 3) -> str:
    """A name in a few lines, broken behind spaces and signs, before the humps of camel case, or
    where a word is too long.
    """
    for letters in range(width * most, 0, -1):
        lines = _lines(short(text, letters), width)
        if len(lines) <= most:
            return plain("\n".join(lines))
    return ""


def _lines(text: str, width: int) -> list[str]:
    lines = [""]
    for part in (p for each in WORD.findall(text) for p in HUMP.split(each)):
        while len(lines[-1]) + len(part.rstrip()) > width:
            room = 0 if lines[-1] else width
            lines[-1:] = [lines[-1] + part[:room], ""]
            part = part[room:]
        lines[-1] += part
    return [line.strip() for line in lines if line.strip()]


def plain(text: str) -> str:
    """A text that matplotlib reads as it is: no sign of it starts a formula."""
    return text.replace("$", r"\$")

"""Pictures, as figures of matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import MissingExtraError
from ..writing import written_whole


def new_figure(purpose: str) -> Any:
    """An empty figure for one plot.

    Raises:
        MissingExtraError: matplotlib is not installed; ``purpose`` says what it is for.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtraError("plot", "matplotlib", purpose) from error
    return Figure(figsize=(5, 3), layout="constrained")


def saved(figure: Any, path: str | Path | None) -> Any:
    """The figure, written to a file if a path is given.

    Raises:
        InvalidInputError: the file cannot be written.
    """
    if path is not None:
        with written_whole(path) as file:
            figure.savefig(file)
    return figure

"""Outcomes as people write them: the target of a question, and the favourable outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import InvalidInputError
from ..frontends.row_files import reads

if TYPE_CHECKING:
    from ..frontends.compiled import Compiled

M = TypeVar("M", bound="Compiled")


def read_target(model: Compiled, label: str | None, range_: str | None) -> Any:
    """The target that ``--target`` or ``--range`` names: a label, a range, or ``None``.

    Raises:
        InvalidInputError: both are given, or the one that the model has no use for.
    """
    classes = model.predictor.classes
    if label is not None and range_ is not None:
        raise InvalidInputError("give --target (a label) or --range (LO:HI), not both")
    if label is None and range_ is None and model.favourable is not None:
        return None
    if classes is None and model.program.output_sorts["value"].shape:
        raise InvalidInputError(
            "the model predicts several numbers; if they are scores of classes, say --task "
            "classifier"
        )
    if classes is None and range_ is None:
        raise InvalidInputError("the model predicts a number; give the target: --range LO:HI")
    if classes is not None and range_ is not None:
        raise InvalidInputError(
            "the model predicts a label, and --range is of models that predict a number: leave it "
            "out, or write --target LABEL"
        )
    if range_ is not None:
        return _range(range_)
    if label is None or classes is None or label in classes:
        return label
    found = [one for one in classes if reads(label, one)]
    return found[0] if len(found) == 1 else label


def read_favourable(model: M, text: str) -> M:
    """The model with the outcome that ``--favourable`` names: a label, or a range.

    Raises:
        InvalidInputError: the model has no such outcome.
    """
    from .target import check_favourable  # with pandas, which no help needs

    is_label = model.predictor.classes is not None
    named = read_target(model, text, None) if is_label else _range(text, "--favourable")
    return replace(model, favourable=check_favourable(model.program, named))


def _range(text: str, option: str = "--range") -> tuple[str | None, str | None]:
    ends = [end.strip() for end in text.split(":")]
    if len(ends) != 2:
        raise InvalidInputError(f"{option} {text!r}: write LO:HI, :HI or LO:, such as 100:150")
    low, high = ends
    return low or None, high or None

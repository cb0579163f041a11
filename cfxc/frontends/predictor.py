"""The original model, as deployed: what every answer is re-run through (DESIGN §6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from ..arrays import Array
from ..errors import UnsupportedError
from ..ir import Label, LabelTuple

Task = Literal["classifier", "regressor"]
DOUBLE, SINGLE = Fraction(1, 2**53), Fraction(1, 2**24)
"""Unit roundoffs of the two kinds of floats."""


@dataclass(frozen=True)
class Wanted:
    """Which output of a network is the decision, and how it is read, as far as that is said.

    Attributes:
        task: ``classifier`` or ``regressor``.
        output: The name or the position of the output that decides.
        cut: What a single number, or the probability of the second of two classes, must exceed
            for the second class.
    """

    task: Task | None = None
    output: str | int | None = None
    cut: float | None = None


@runtime_checkable
class Predictor(Protocol):
    """Runs the model that a program was lowered from, on tables with the space's columns."""

    @property
    def task(self) -> Task:
        """``classifier`` (predictions are labels) or ``regressor`` (numbers)."""

    @property
    def classes(self) -> tuple[Label, ...] | None:
        """The labels in the order of the program's ``label``; ``None`` for a regressor."""

    @property
    def unit_roundoff(self) -> Fraction:
        """u: by what share one operation of the model may be off; 2⁻⁵³ for doubles."""

    @property
    def adds_singles(self) -> bool:
        """Whether it adds up in single floats what trees say, so that sums tie but for rounding."""

    def probabilities(self, frame: pd.DataFrame) -> Array | None:
        """What the original model gives to each class, shape (n, k); ``None`` if it gives none."""

    def predict(self, frame: pd.DataFrame) -> Array:
        """What the original model answers for n rows.

        Labels (n,), or numbers of shape (n,) for one target and (n, k) for k.

        Raises:
            MissingColumnError: ``frame`` lacks a column of the model.
        """


def chance_of(predictor: Predictor, frame: pd.DataFrame, label: Label) -> float | None:
    """The probability that a model gives to a label, on one row; ``None`` if it gives none."""
    found, classes = predictor.probabilities(frame), predictor.classes
    if found is None or classes is None:
        return None
    return float(found[0, LabelTuple(classes).position(label)])


def class_labels(classes: Sequence[Any] | Array) -> LabelTuple:
    """A model's classes as the labels of its program: plain Python values, in the model's order.

    Raises:
        UnsupportedError: classes that are neither text, numbers nor booleans.
    """
    labels = [one.item() if isinstance(one, np.generic) else one for one in classes]
    odd = [label for label in labels if not isinstance(label, str | int | float)]
    if odd:
        raise UnsupportedError(
            "classes must be text, numbers or booleans",
            [f"{label!r} ({type(label).__name__})" for label in odd],
        )
    return LabelTuple(labels)


def plain_item(value: Any) -> Any:
    """A prediction as a plain Python value."""
    return value.item() if hasattr(value, "item") else value

"""A deployed decision as an exact program, beside the model itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CfxcError, InvalidInputError
from ..ir import Program
from ..markup import card, folded
from ..space import FeatureSpace
from ..space.names import names_arguments, shown
from ..space.page import features_table
from ..space.tables import rows_of
from .predictor import Predictor


@dataclass(frozen=True, repr=False)
class Compiled:
    """A deployed decision as an exact program over the features of a space.

    ``file``: name and SHA-256 of the model file, if it came from one; ``favourable``: the outcome
    that is favourable, if that was said: wherever a target is not named, it is meant.
    """

    program: Program
    space: FeatureSpace
    predictor: Predictor
    file: Mapping[str, str] | None = None
    favourable: Any = None

    def __repr__(self) -> str:
        name = self.program.name if self.file is None else self.file["name"]
        classes = self.predictor.classes
        outcomes = "a number" if classes is None else shown(classes)
        liked = "" if self.favourable is None else f", favourable {self.favourable!r}"
        return f"{type(self).__name__}({name}: {len(self.space)} features → {outcomes}{liked})"

    def _repr_html_(self) -> str:
        inside = folded(f"{len(self.space)} features", features_table(self.space.features))
        return card(repr(self), inside)

    def target_or_favourable(self, target: Any) -> Any:
        """The target named; else the favourable outcome, or ``None`` if that is not known."""
        return self.favourable if target is None else target

    @names_arguments
    def predict(self, rows: Any) -> np.ndarray[Any, Any]:
        """Outcomes of the *original* model on rows, shape (n,).

        Raises:
            DataTypeError, InvalidInputError: no table, no rows, or what the model cannot read.
        """
        rows = rows_of(rows, "predict")
        try:
            return self.predictor.predict(rows)
        except CfxcError:
            raise
        except Exception as error:  # whatever a model raises of rows that it does not take
            said = f"{type(error).__name__}: {error}".split("\n")[0][:200]
            raise InvalidInputError(
                f"the model itself cannot predict {'this row' if len(rows) == 1 else 'these rows'}"
                f" ({said}); correct the row, or what the space admits"
            ) from error

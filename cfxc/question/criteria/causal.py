"""Structural causal models: features that follow from others, whatever is changed.

Each endogenous feature keeps its own noise, x_i = x̂_i + c_i(p_i) - c_i(p̂_i), where p_i are its
parents: equation 7 of Maragno, Röber & Birbil (2022), by abduction, action and prediction (Pearl
2013).  Mechanisms c_i are written down, or learned: any regressor that can be compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Self

from ...errors import DataTypeError, InvalidInputError, MissingColumnError, UnsupportedError
from ...frontends.files import load_model
from ...frontends.row_files import once
from ...lang.lower import lower_expression
from ...lang.parser import parse_expression
from ...space import FeatureSpace
from ...space.feature import sort_of
from ...space.names import names_arguments, suggestion
from ..effects import Effect, Mechanism, effects_of
from .criterion import Constraint, Criterion, Instance


class Causal(Criterion):
    """Which features follow from which, and how.

    Args:
        equations: Endogenous feature → the mechanism c_i: its text in the core language, over the
            features it follows from (``"90 * duration"``), or a fitted regressor and the features
            that it takes (``(regressor, ["duration"])``).

    A feature with a grid takes the value on it that is nearest to the equation's (either one
    halfway); one without may be off by 1e-6 of its range.  The instance's own values need not obey
    the mechanisms: what they leave unexplained stays as it is.

    Raises:
        DataTypeError, InvalidInputError: no equations, or none of these forms.
    """

    name = "causal"
    flag = "--causal"
    metavar = "EQUATION"
    help = "Such as 'amount = 90 * duration'; may be repeated."

    @names_arguments
    def __init__(self, equations: Mapping[str, str | tuple[Any, Sequence[str]]]) -> None:
        if not isinstance(equations, Mapping) or not equations:
            raise DataTypeError('Causal takes {"feature": "equation", …}, one at least')
        for name, mechanism in equations.items():
            learned = isinstance(mechanism, tuple) and len(mechanism) == 2
            if not isinstance(mechanism, str) and not (
                learned and not isinstance(mechanism[1], str) and list(mechanism[1])
            ):
                raise InvalidInputError(
                    f"causal model, {name}: an equation as text, or (regressor, [feature, …])"
                )
        self.equations = dict(equations)

    def __repr__(self) -> str:
        return f"Causal({', '.join(map(self._told, self.equations))})"

    def constraints(self, instance: Instance) -> Sequence[Constraint]:
        return [Constraint(e.mechanism.text, e.holds, by=self) for e in self.effects(instance)]

    def effects(self, instance: Instance) -> Sequence[Effect]:
        mechanisms = self.mechanisms(instance.space)
        for each in mechanisms:
            instance.refuse_missing(f"the mechanism of {each.name!r}", [each.name, *each.parents])
        return effects_of(mechanisms, instance.factual, instance.domains)

    def to_toml(self) -> dict[str, str]:
        texts = {name: each for name, each in self.equations.items() if isinstance(each, str)}
        if len(texts) < len(self.equations):
            raise UnsupportedError(f"{self}: a fitted mechanism cannot be written to a file")
        return texts

    @classmethod
    def from_flags(cls, given: Sequence[Any]) -> Sequence[Self]:
        parts = [text.partition("=") for text in given]
        for text, (name, _, mechanism) in zip(given, parts, strict=True):
            if not name.strip() or mechanism.strip(" =") == "" or mechanism[0] == "=":
                raise InvalidInputError(
                    f"--causal '{text}' is no 'feature = equation', with one '='"
                )
        equations = once([(name.strip(" `"), right.strip()) for name, _, right in parts])
        return [cls(equations)]

    def mechanisms(self, space: FeatureSpace) -> tuple[Mechanism, ...]:
        """The mechanisms over the features of a space, causes before effects.

        Raises:
            MissingColumnError: a feature that the space does not have.
            InvalidInputError: a cycle, or an endogenous feature that is no number.
            LanguageError, UnsupportedError: a mechanism that cannot be compiled.
        """
        found = {name: self._mechanism(name, space) for name in self.equations}
        graph = {name: set(each.parents) for name, each in found.items()}
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            raise InvalidInputError(
                f"causal model: features follow from themselves: {' → '.join(error.args[1])}"
            ) from None
        return tuple(found[name] for name in order if name in found)

    def _mechanism(self, name: str, space: FeatureSpace) -> Mechanism:
        _require(name, space)
        if space[name].is_symbolic:
            raise InvalidInputError(
                f"causal model: {name} is a category, and only numbers can follow from others"
            )
        mechanism = self.equations[name]
        if isinstance(mechanism, str):
            source = f"causal model, {name}"
            sorts = {feature.name: sort_of(feature) for feature in space}
            program = lower_expression(parse_expression(mechanism, source), sorts, source=source)
            output = "result"
        else:
            regressor, parents = mechanism
            for parent in parents:
                _require(parent, space)
            features = tuple(space[parent] for parent in parents)
            columns = FeatureSpace(features, tables=space.tables)
            program, _ = load_model(regressor, columns, task="regressor")
            output = "value"
        sort = dict(program.output_sorts).get(output)
        if sort is None or sort.shape or not sort.is_numeric:
            raise InvalidInputError(f"causal model: the mechanism of {name} gives no single number")
        return Mechanism(name, self._told(name), program, output)

    def _told(self, name: str) -> str:
        mechanism = self.equations[name]
        if isinstance(mechanism, str):
            return f"{name} follows {mechanism}"
        return f"{name} follows {type(mechanism[0]).__name__}({', '.join(mechanism[1])})"


def _require(name: str, space: FeatureSpace) -> None:
    if name not in space:
        raise MissingColumnError(
            f"causal model: there is no feature {name!r}{suggestion(name, space.names)}"
        )

"""Another model's word as a constraint: a density, a price, a second opinion."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from ...errors import InvalidInputError, ModelFileError, UnsupportedError
from ...frontends.files import load_model
from ...ir import Builder, LabelTuple, Literal, Program, ops
from ...space import FeatureSpace
from ...space.feature import sort_of
from ...space.names import names_arguments
from ...space.values import Label, as_written
from .criterion import Constraint, Criterion, Instance, settings_of

OUTPUTS = ("score", "value")


class Accepts(Criterion):
    """What any model that can be compiled says of a counterfactual.

    An isolation forest keeps it among the data (``Accepts(forest, label=1)``), as strictly
    as its ``contamination`` says; a regressor's prediction, or a score, may lie within ends.

    Args:
        model: A fitted estimator, a native booster, or a model file, as ``cfxc.compile`` takes it;
            or what that gives, compiled over features of the same kinds.
        at_least, at_most: Ends of the output, which are in it.
        label: The label it must have instead.
        output: ``score`` or ``value``; by default whichever the model has.
        features: The features that it takes; by default those it was trained on by name, or all.
        trust_pickle: As for ``cfxc.compile``.

    Raises:
        InvalidInputError: nothing is asked for, or a label and ends.
    """

    name = "accepts"
    once = False
    flag = "--accepts"
    metavar = "MODEL"
    help = (
        "Another model's word: model.onnx,label=1 or model.onnx,at_least=0.5; may be repeated.  "
        "A pickle: model.pkl,label=1,trust_pickle=true."
    )

    @names_arguments
    def __init__(
        self,
        model: Any,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        label: Label = None,
        output: str | None = None,
        features: Sequence[str] | None = None,
        trust_pickle: bool = False,
    ) -> None:
        ends = at_least is not None or at_most is not None
        if ends == (label is not None):
            wrong = "both a label and ends" if ends else "nothing that the model is to answer"
            raise InvalidInputError(
                f"Accepts: {wrong}; give label=…, or of a number at_least=…, at_most=… or both"
            )
        if output is not None and output not in OUTPUTS:
            raise InvalidInputError(f"Accepts: output is one of {', '.join(OUTPUTS)}")
        self.model, self.label, self.output = model, label, output
        self.lower, self.upper = _end(at_least, "at_least"), _end(at_most, "at_most")
        self.features = None if features is None else tuple(features)
        self.trust_pickle = trust_pickle

    def __str__(self) -> str:
        what = self.model if isinstance(self.model, str) else type(self.model).__name__
        if self.label is not None:
            return f"{what} says {self.label!r}"
        low = "" if self.lower is None else f"{float(self.lower):g} <= "
        high = "" if self.upper is None else f" <= {float(self.upper):g}"
        return f"{low}{what}{high}"

    def __repr__(self) -> str:
        return f"Accepts({self})"

    def constraints(self, instance: Instance) -> Sequence[Constraint]:
        return [Constraint(str(self), self.program(instance.space), by=self)]

    def to_toml(self) -> dict[str, Any]:
        if not isinstance(self.model, str | Path):
            raise UnsupportedError(f"{self}: a question can be written with a model's file alone")
        known = {
            "at_least": None if self.lower is None else float(self.lower),
            "at_most": None if self.upper is None else float(self.upper), "label": self.label,
            "output": self.output, "features": self.features and list(self.features),
            "trust_pickle": self.trust_pickle or None,
        }  # fmt: skip
        return {"model": str(self.model), **{k: v for k, v in known.items() if v is not None}}

    @classmethod
    def from_toml(cls, value: Any) -> Self:
        names = ("at_least", "at_most", "label", "output", "features", "trust_pickle")
        model, options = settings_of(value, cls.name, "model", names)
        return cls(model, **options)

    def program(self, space: FeatureSpace) -> Program:
        """Features → ``holds``.

        Raises:
            CfxcError: the model cannot be compiled over the space, or has no such output or label.
        """
        return _compiled(self, space)


@lru_cache(maxsize=16)
def _compiled(requested: Accepts, space: FeatureSpace) -> Program:
    program = _program_of(requested, space)
    builder = Builder("model")
    for name, sort in program.inputs:
        builder.input(name, sort)
    given = builder.inline(program, {name: name for name, _ in program.inputs})
    if requested.label is not None:
        labels = program.output_sorts["label"].labels if "label" in given else None
        if labels is None or not labels.has(requested.label):
            raise InvalidInputError(f"{requested}: it has no such label{_among(labels)}")
        return builder.build(holds=builder.let(ops.IsLabel(given["label"], requested.label)))
    chosen = requested.output or next((name for name in OUTPUTS if name in given), None)
    if chosen is None or chosen not in given or program.output_sorts[chosen].shape:
        raise UnsupportedError(
            f"{requested}: the model has no single number called {chosen or ' or '.join(OUTPUTS)}"
        )
    tests = []
    if requested.lower is not None:
        tests.append(builder.let(ops.Ge(given[chosen], Literal(requested.lower))))
    if requested.upper is not None:
        tests.append(builder.let(ops.Le(given[chosen], Literal(requested.upper))))
    return builder.build(holds=builder.let(ops.And(tuple(tests))))


def _among(labels: LabelTuple | None) -> str:
    return "" if labels is None else f"; its labels are {', '.join(map(repr, labels))}"


def _program_of(requested: Accepts, space: FeatureSpace) -> Program:
    compiled = getattr(requested.model, "program", None)
    if isinstance(compiled, Program):  # by cfxc.compile
        sorts = {feature.name: sort_of(feature) for feature in space}
        for name, sort in compiled.inputs:
            if sorts.get(name) != sort:
                given = f"of sort {sorts[name]} here" if name in sorts else "no feature here"
                raise InvalidInputError(
                    f"{requested}: its feature '{name}' of sort {sort} is {given}; "
                    "compile it over the same feature space, or give the model itself"
                )
        return compiled
    names = requested.features or _known_names(requested.model, space)
    columns = space if names is None else space.subset(names)
    try:
        return load_model(requested.model, columns, trust_pickle=requested.trust_pickle)[0]
    except ModelFileError as error:  # the command's own flag is about its own model
        flag = f"--accepts {shlex.quote(f'{requested.model},…,trust_pickle=true')}"
        raise ModelFileError(str(error).replace("--trust-pickle", flag)) from error


def _known_names(model: Any, space: FeatureSpace) -> list[str] | None:
    """The features behind the columns that a model was trained on by name."""
    columns = getattr(model, "feature_names_in_", None)
    if columns is None:
        return None
    return list(dict.fromkeys(space.column_source(str(column))[0].name for column in columns))


def _end(value: Any, name: str) -> Fraction | None:
    return None if value is None else as_written(value, f"Accepts: {name}")

"""A LightGBM model to a program: sums of doubles, on doubles as they are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from ....ir import Literal, Operand, ops
from ....space import FeatureSpace
from ...sklearn.linear import ZERO, Classes
from ...sklearn.lowering import Lowering, Raw, Refs, tensor
from ...sklearn.members import total
from ...sklearn.registry import Outputs
from ...sklearn.tracing import first_true
from ..columns import Coding, binary_outputs, class_outputs, summed, value_outputs
from ..forest import Forest
from .text import LgbModel

DEFAULT_NAME = re.compile(r"Column_\d+")
FARTHEST = 709.0  # exp of more overflows


def regressor_flaws(model: LgbModel) -> tuple[str, ...]:
    """What is not supported in a model that predicts numbers."""
    if not model.flaws and model.outputs > 1:
        return (f"its objective {model.objective!r} predicts classes, not numbers",)
    return model.flaws


def classifier_flaws(model: LgbModel, classes: int) -> tuple[str, ...]:
    """What is not supported in a model that predicts one of some classes."""
    if classes < 2:
        return (*model.flaws, "was trained on one class only")
    if not model.flaws and model.outputs != (1 if classes == 2 and model.outputs == 1 else classes):
        return (f"predicts {model.outputs} numbers at once, not one of {classes} classes",)
    return model.flaws


def space_names(names: Sequence[str], space: FeatureSpace) -> tuple[str, ...] | None:
    """The model's columns by the names that the space has; ``None`` if it was given no names.

    The library replaces spaces in names by underscores.
    """
    written = {column.replace(" ", "_"): column for column in space.columns}
    found = [name if name in space.columns else written.get(name, name) for name in names]
    default = all(map(DEFAULT_NAME.fullmatch, names))
    return None if default and not set(found) <= set(space.columns) else tuple(found)


def category_columns(
    model: LgbModel, columns: Sequence[str | None], space: FeatureSpace
) -> list[int] | None:
    """Which of the columns were pandas categories in training; ``None`` if that is unclear.

    The model lists their categories, but does not say whose they are.  They are the columns of
    that dtype, or else those that training took for categories.
    """
    dtypes = {name: t for one in space for name, t in zip(one.columns, one.dtypes, strict=True)}
    by_dtype = [i for i, name in enumerate(columns) if name and dtypes.get(name) == "category"]
    by_training = [i for i, number in enumerate(model.numbered) if number is False]
    for found in (by_dtype, by_training):
        if len(found) == len(model.categories):
            return found
    return None


def lower_regressor(lowering: Lowering, refs: Refs, model: LgbModel, *, as_array: bool) -> Outputs:
    """``value``: the sum, or what the objective makes of it.

    With ``as_array`` the library is given an array, and else a DataFrame.
    """
    sums = _sums(lowering, refs, model, as_array)
    return value_outputs(lowering, sums, 1, model.link, model.sigmoid)


def lower_classifier(
    lowering: Lowering, refs: Refs, model: LgbModel, classes: Classes, *, as_array: bool
) -> Outputs:
    """``label``, ``score`` and, where the objective has some, ``probability``.

    The score is the sum over the trees; of a random forest their mean, which is what its
    probabilities are made of: the library's ``raw_score`` by the number of trees.
    """
    sums = _sums(lowering, refs, model, as_array)
    if model.outputs > 1:
        return class_outputs(lowering, classes, sums, model.link, model.sigmoid)
    return binary_outputs(lowering, classes, sums, label_cut(model), model.link, model.sigmoid)


def _sums(lowering: Lowering, refs: Refs, model: LgbModel, as_array: bool) -> Operand:
    # tables keep their numbers; the library turns arrays of whole numbers into float32
    single = as_array and lowering.dtype(refs).kind in "biu"
    codings = _codings(lowering, refs, model)
    plain = tuple(tree for at, tree in enumerate(model.trees) if at not in model.linear)
    forest = Forest(plain, np.zeros(model.outputs), model.columns, single)
    sums: Operand = summed(lowering, refs, forest, codings)
    if model.linear:
        sums = lowering.let(ops.Add(sums, _linear(lowering, refs, model, codings, single)))
    if model.averaged is None:
        return sums
    return lowering.let(ops.Div(sums, Literal(Fraction(model.averaged))))


def _linear(
    lowering: Lowering, refs: Refs, model: LgbModel, codings: Mapping[int, Coding], single: bool
) -> Operand:
    """What linear leaves add to each output: of each tree, that of the leaf of a row.

    The library takes the constant of a leaf where a column of its model is missing.
    """
    used = np.zeros(model.columns, dtype=bool)
    for leaves in model.linear.values():
        used |= leaves.slopes.any(axis=0)
    columns = np.flatnonzero(used)
    numbers = [refs[place] for place in columns.tolist()]
    x: Operand = lowering.vector(numbers) if numbers else lowering.constant(np.zeros(1))
    x = lowering.let(ops.RoundFloat32(x)) if single else x
    parts: list[list[Operand]] = [[] for _ in range(model.outputs)]
    for place, leaves in model.linear.items():
        count = leaves.start.size
        forest = Forest((model.trees[place],), np.zeros(count), model.columns, single)
        ends = summed(lowering, refs, forest, codings)
        slopes = leaves.slopes[:, columns] if numbers else np.zeros((count, 1))
        said = lowering.let(ops.Affine(x, tensor(slopes), tensor(leaves.start)))
        here = lowering.let(ops.Gt(ends, Literal(Fraction(1, 2))))
        chosen = lowering.let(ops.Select(here, said, ZERO))
        parts[place % model.outputs].append(lowering.let(ops.ReduceSum(chosen)))
    nothing = lowering.constant(np.zeros(1))
    sums = (total(lowering, made) if made else nothing for made in parts)
    return lowering.let(ops.Concat(tuple(sums)))


def _codings(lowering: Lowering, refs: Refs, model: LgbModel) -> dict[int, Coding]:
    names = [ref.column if isinstance(ref, Raw) else None for ref in refs]
    found = category_columns(model, names, lowering.space)
    if found is None:
        count = len(model.categories)
        lowering.problem(
            f"{count} of its columns were pandas categories in training, and it is unclear which",
            "infer the space from the table that the model was trained on, with its dtypes",
        )
        return {}
    return {
        place: Coding({label: float(code) for code, label in enumerate(known)}, strict=False)
        for place, known in zip(found, model.categories, strict=True)
    }


def label_cut(model: LgbModel) -> float:
    """The smallest double whose prediction p exceeds the rounded 1 - p: the second class."""
    link = _link(model)

    def second(raw: float) -> bool:
        share = link(raw)
        return share > 1.0 - share

    most = float(np.finfo(np.float64).max)
    return first_true(second, -most, most)


def _link(model: LgbModel) -> Callable[[float], float]:
    if model.link == "sigmoid":
        return lambda raw: 1.0 / (1.0 + math.exp(min(-model.sigmoid * raw, FARTHEST)))
    if model.link == "exp":
        return lambda raw: math.exp(min(raw, FARTHEST))
    if model.link == "square":
        return lambda raw: math.copysign(raw * raw, raw)
    return lambda raw: raw

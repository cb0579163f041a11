"""Fitted models of ``statsmodels``: linear forms, with a link, of columns or of a formula's terms.

A result of Logit, Probit or a binomial GLM decides 1 where what it predicts exceeds a cut, else 0;
MNLogit for the class of the highest probability; all others give numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.discrete.discrete_model import Logit, MNLogit, Poisson, Probit
from statsmodels.genmod.families import Binomial, links
from statsmodels.genmod.generalized_linear_model import GLM
from statsmodels.regression.linear_model import GLS, OLS, WLS
from statsmodels.regression.quantile_regression import QuantReg
from statsmodels.robust.robust_linear_model import RLM

from ...arrays import Floats
from ...errors import InvalidInputError, UnsupportedError
from ...ir import LabelTuple, Literal, Operand, ops
from ...space import FeatureSpace
from ...space.names import shown
from ..boosters.native import Native
from ..sklearn.encoders import symbol
from ..sklearn.linear import binary_label_from, pair, top_label
from ..sklearn.lowering import Lowering, Ref, Refs, named, tensor
from ..sklearn.program import columns_of
from ..sklearn.registry import RESULTS, Outputs
from ..sklearn.tracing import first_true
from .cells import categories

LINES = (OLS, WLS, GLS, QuantReg, RLM)
CHANCES = (links.Logit, links.Probit, links.CLogLog, links.LogLog, links.Cauchy)
"""Links whose inverse rises from 0 to 1."""
RESULTS.update(dict.fromkeys(LINES, ""))
RESULTS[Logit] = RESULTS[MNLogit] = ""
RESULTS[Probit] = "without probabilities"
RESULTS[Poisson] = "a range of the target is one of its logarithm"
RESULTS[GLM] = (
    "binomial with links Logit, Probit, CLogLog, LogLog and Cauchy; other families with links "
    "Identity and Log"
)
HALF = 0.5
PLAIN = "Add it to the table as a column of its own, and fit the model on that."
UNKNOWN = "Drop from the space what the model does not know (labels)."


@dataclass(frozen=True)
class Design:
    """What a model multiplies by its parameters: columns of the table, and how they are made.

    ``constant`` is what it is given where a column that the table lacks stands for a constant.
    """

    columns: tuple[str, ...]
    build: Callable[[Lowering, Refs], Operand]
    tables: Callable[[pd.DataFrame], Any]


def native(result: Any, space: FeatureSpace, cut: float | None = None) -> Native:
    """A fitted result on the columns of a space; ``cut`` is 1/2 if it is not given.

    Raises:
        UnsupportedError: a formula that computes with its columns.
        MissingColumnError, InvalidInputError: model and space do not fit.
    """
    model = result.model
    spec = getattr(model.data, "model_spec", None) or getattr(model.data, "design_info", None)
    formula = hasattr(model, "formula") and spec is not None
    design = _of_formula(spec, space) if formula else _of_columns(model, space)
    classes = _classes(result)
    if cut is not None and classes != 2:
        raise InvalidInputError("cut= is for a model of two classes that gives a probability")
    bound = HALF if cut is None else float(cut)
    if not 0 <= bound < 1:
        raise InvalidInputError(f"cut={cut!r} is not in [0, 1)")

    def lower(lowering: Lowering, refs: Refs) -> Outputs:
        return _outputs(lowering, result, design.build(lowering, refs), bound)

    def run(table: pd.DataFrame) -> Any:
        return np.asarray(result.predict(design.tables(table)))

    return Native("statsmodels", design.columns, classes, _flaws(result), lower, run, cut=bound)


def _classes(result: Any) -> int | None:
    model = result.model
    if type(model) is MNLogit:
        return int(np.shape(result.params)[1]) + 1
    binomial = type(model) is GLM and type(model.family) is Binomial
    return 2 if binomial or type(model) in (Logit, Probit) else None


def _flaws(result: Any) -> Iterator[str]:
    model = result.model
    name = type(model).__name__
    if type(model) not in RESULTS:
        known = ", ".join(each.__name__ for each in RESULTS)
        yield f"{name}: no model that is read; those are {known}"
        return
    if not np.isfinite(np.asarray(result.params, dtype=float)).all():
        yield f"{name}: has parameters that are no numbers"
    if type(model) is not GLM:
        return
    link = type(model.family.link)
    allowed = CHANCES if type(model.family) is Binomial else (links.Identity, links.Log)
    if link not in allowed:
        names = ", ".join(each.__name__ for each in allowed)
        yield (
            f"{name}: the link {link.__name__} of the family {type(model.family).__name__} is not "
            f"supported; those are {names}"
        )
    if type(model.family) is Binomial and np.any(np.asarray(getattr(model, "n_trials", 1)) != 1):
        yield f"{name}: counts of several trials give shares, and decide nothing"


def _outputs(lowering: Lowering, result: Any, x: Operand, cut: float) -> Outputs:
    """Label, score and probability, or a value."""
    model, params = result.model, np.asarray(result.params, dtype=np.float64)
    weight = params.T if params.ndim == 2 else params[None, :]
    made = lowering.let(ops.Affine(x, tensor(weight), tensor(np.zeros(len(weight)))))
    if type(model) is MNLogit:
        scores = lowering.let(ops.Concat((Literal(Fraction(0)), made)))
        label = top_label(lowering, range(len(weight) + 1), scores)
        return {"label": label, "score": scores, "probability": lowering.let(ops.Softmax(scores))}
    score: Operand = lowering.let(ops.Item(made, 0))
    if _classes(result) is None:
        raised = type(model) is Poisson or (
            type(model) is GLM and type(model.family.link) is links.Log
        )
        return {"value": lowering.let(ops.Exp(score)) if raised else score}
    inverse = model.family.link.inverse if type(model) is GLM else model.cdf
    least = least_double(lambda z: bool(np.asarray(inverse(np.array([z])))[0] > cut))
    label = binary_label_from(lowering, (0, 1), score, Literal(Fraction(least)))
    outputs: Outputs = {"label": label, "score": score}
    if type(model) is Logit or (type(model) is GLM and type(model.family.link) is links.Logit):
        outputs["probability"] = pair(lowering, lowering.let(ops.Sigmoid(score)))
    return outputs


def least_double(holds: Callable[[float], bool]) -> float:
    """The smallest double within ±1e300 for which a monotone test holds.

    Raises:
        UnsupportedError: it holds for none.
    """
    with np.errstate(all="ignore"):
        if not holds(1e300):
            raise UnsupportedError("no row reaches the cut: what the model predicts never does")
        return first_true(holds, -1e300, 1e300)


# --- columns -------------------------------------------------------------------------------------


def _of_columns(model: Any, space: FeatureSpace) -> Design:
    """The columns of the matrix by name; a constant that the table lacks is put in its place."""
    names = [str(name) for name in model.exog_names][: _width(model)]
    known = getattr(model.data, "const_idx", None)
    place = 0 if known is None else int(known)
    constant: float | None = None
    if known is not None and names[place] not in space.columns:
        constant = float(np.asarray(model.exog)[0, place])
        del names[place]
    generic = names and all(name == f"x{i + 1}" for i, name in enumerate(names))
    unnamed = generic and not set(names) <= set(space.columns)
    columns = columns_of(space, None if unnamed else tuple(names), len(names))

    def build(lowering: Lowering, refs: Refs) -> Operand:
        parts = [lowering.vector(refs)] if refs else []
        if constant is None:
            return parts[0]
        one = lowering.constant(np.array([constant]))
        if not refs:
            return one
        whole = lowering.let(ops.Concat((one, *parts)))
        order = [*range(1, place + 1), 0, *range(place + 1, len(refs) + 1)]
        return lowering.let(ops.Take(whole, tuple(order)))

    def tables(table: pd.DataFrame) -> Floats:
        held = table.to_numpy(dtype=np.float64)
        return held if constant is None else np.insert(held, place, constant, axis=1)

    return Design(columns, build, tables)


def _width(model: Any) -> int:
    return int(np.shape(model.exog)[1])


# --- formulas ------------------------------------------------------------------------------------


def _of_formula(spec: Any, space: FeatureSpace) -> Design:
    """The terms of a formula: products of columns and of contrasts of categories."""
    if type(spec).__module__.split(".")[0] != "patsy":
        raise UnsupportedError(
            "this statsmodels model cannot be compiled",
            [f"its formula was read by {type(spec).__module__.split('.')[0]}, not by patsy"],
            "fit it with patsy, or on a table of columns",
        )
    sources = {factor: _column(factor.code) for factor in spec.factor_infos}
    computed = [factor.code for factor, name in sources.items() if name is None]
    if computed:
        raise UnsupportedError(
            "this statsmodels model cannot be compiled",
            [f"its formula computes {shown(computed)}"], PLAIN,
        )  # fmt: skip
    names = tuple(dict.fromkeys(str(name) for name in sources.values()))
    columns = columns_of(space, names, len(names))

    def build(lowering: Lowering, refs: Refs) -> Operand:
        own = dict(zip(columns, refs, strict=True))
        terms = _Terms(lowering, spec, {factor: own[str(n)] for factor, n in sources.items()})
        return terms.vector()

    def tables(table: pd.DataFrame) -> pd.DataFrame:
        kinds = {name: object for name in table if table[name].dtype == "category"}
        return table.astype(kinds)

    return Design(columns, build, tables)


def _column(code: str) -> str | None:
    """The column that a factor is: ``a``, ``Q('a b')``, ``C(a)``, ``C(a, Sum)``; else ``None``."""
    tree = ast.parse(code, mode="eval").body
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C":
        tree = tree.args[0]
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "Q":
        (name,) = tree.args
        return str(name.value) if isinstance(name, ast.Constant) else None
    return tree.id if isinstance(tree, ast.Name) else None


class _Terms:
    """The matrix of a formula on the columns of its factors."""

    def __init__(self, lowering: Lowering, spec: Any, refs: Mapping[Any, Ref]) -> None:
        self.lowering, self.spec, self.refs = lowering, spec, refs

    def vector(self) -> Operand:
        """All columns of the matrix, in its order."""
        parts: list[Operand] = []
        for codings in self.spec.term_codings.values():
            parts += [self._product(coding) for coding in codings]
        return self.lowering.let(ops.Concat(tuple(parts)))

    def _product(self, coding: Any) -> Operand:
        """The columns of a part of a term; those of its first factor vary fastest."""
        factors = [self._factor(factor, coding) for factor in coding.factors]
        if not factors:
            return self.lowering.constant(np.ones(1))
        orders = list(product(*(range(width) for _, width in reversed(factors))))
        made: Operand | None = None
        for place, (vector, width) in enumerate(factors):
            chosen = tuple(order[len(factors) - 1 - place] for order in orders)
            whole = chosen == tuple(range(width))
            part = vector if whole else self.lowering.let(ops.Take(vector, chosen))
            made = part if made is None else self.lowering.let(ops.Mul(made, part))
        assert made is not None
        return made

    def _factor(self, factor: Any, coding: Any) -> tuple[Operand, int]:
        ref, info = self.refs[factor], self.spec.factor_infos[factor]
        if info.type == "numerical":
            return self.lowering.vector((ref,)), 1
        matrix = np.asarray(coding.contrast_matrices[factor].matrix, dtype=np.float64)
        return self._contrasts(ref, info.categories, matrix), matrix.shape[1]

    def _contrasts(self, ref: Ref, known: Sequence[Any], matrix: Floats) -> Operand:
        """The contrasts of a category, as a table over the labels of its feature."""
        nothing = np.zeros((1, matrix.shape[1]))
        if categories(self.lowering, ref) is None:
            return self.lowering.constant(nothing[0])
        held = symbol(self.lowering, ref)
        assert held is not None
        odd = [cell for cell in held.cells if cell not in known]
        if odd:
            text = f"{named(ref)} can hold {shown(odd)}, which the model does not know"
            self.lowering.problem(text, UNKNOWN)
        places = [known.index(cell) if cell in known else 0 for cell in held.cells]
        return self.lowering.let(
            ops.Lookup(held.category, LabelTuple(held.labels), tensor(matrix[places]))
        )

"""NumPy's functions of one number, as function transformers apply them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.preprocessing import FunctionTransformer

from ...arrays import Floats
from ...ir import Literal, Op, Operand, ops
from .columnwise import LARGEST_TABLE, Real, column_function, imaged, range_of, tabulated
from .lowering import DOUBLE, SINGLE, Cell, Function, Lowering, Ref, Refs, Stage
from .registry import Estimator, transformer
from .tracing import last_below

LOOSE = 256  # doubles around a crossing within which library functions may cross again
ONE = Literal(Fraction(1))
NO_VALUE = (
    "Put trees or boosting behind it, which compare the column itself; or declare the feature "
    "integer in the space (kind = integer), which makes it a table; or export the model to ONNX."
)


@dataclass(frozen=True)
class Elementary:
    """A function of one number: how it bends, where it exists, and its real function if any.

    ``least``: the lowest number that it is defined at, or above it if ``beyond``.  ``steps``: it is
    constant between whole numbers.  ``tables``: a table of few values is better than ``real``.
    """

    breaks: tuple[float, ...] = ()
    falls: bool = False
    loose: int = 0
    real: Real | None = None
    least: float = -np.inf
    beyond: bool = False
    steps: bool = False
    tables: bool = True


def _op(make: Callable[[Operand], Op]) -> Real:
    return lambda lowering, x: lowering.let(make(x))


def expm1(lowering: Lowering, x: Operand) -> str:
    """``exp(x) - 1``."""
    return lowering.let(ops.Sub(lowering.let(ops.Exp(x)), ONE))


BENT, STEPS = (0.0,), Elementary(steps=True)
FUNCTIONS: Mapping[Any, Elementary] = {
    np.absolute: Elementary(BENT, real=_op(ops.Abs), tables=False),
    np.fabs: Elementary(BENT, real=_op(ops.Abs), tables=False),
    np.negative: Elementary(falls=True, real=_op(ops.Neg), tables=False),
    np.square: Elementary(BENT, real=_op(lambda x: ops.Mul(x, x))),
    np.reciprocal: Elementary(BENT, real=_op(lambda x: ops.Div(ONE, x))),
    np.sign: STEPS, np.floor: STEPS, np.ceil: STEPS, np.rint: STEPS, np.round: STEPS,
    np.trunc: STEPS,
    np.sqrt: Elementary(least=0.0),  # rounded correctly
    np.log: Elementary(loose=LOOSE, least=0.0, beyond=True),
    np.log2: Elementary(loose=LOOSE, least=0.0, beyond=True),
    np.log10: Elementary(loose=LOOSE, least=0.0, beyond=True),
    np.log1p: Elementary(loose=LOOSE, least=-1.0, beyond=True),
    np.cbrt: Elementary(loose=LOOSE),
    np.arcsinh: Elementary(loose=LOOSE),
    np.arctan: Elementary(loose=LOOSE),
    np.exp: Elementary(loose=LOOSE, real=_op(ops.Exp)),
    np.expm1: Elementary(loose=LOOSE, real=expm1),
    np.tanh: Elementary(loose=LOOSE, real=_op(ops.Tanh)),
    expit: Elementary(loose=LOOSE, real=_op(ops.Sigmoid)),
}  # fmt: skip
"""What is known of the functions that are lowered."""


def _unknown_function(estimator: Estimator) -> Iterator[str]:
    func = estimator.func
    if func is None:
        return
    called = getattr(func, "__name__", type(func).__name__)
    if not _is_known(func):
        yield (
            f"calls the Python function {called!r}, which has no program; use func=None or a "
            "function of NumPy such as np.log1p, np.sqrt, np.abs, np.square, np.exp or np.floor"
        )
    elif estimator.kw_args:
        yield f"calls {called!r} with kw_args; apply it without"


def _is_known(func: Any) -> bool:
    try:
        return func in FUNCTIONS
    except TypeError:  # it cannot be hashed
        return False


@transformer(FunctionTransformer, flaws=_unknown_function)
def lower_function(lowering: Lowering, function: Estimator, refs: Refs) -> Refs:
    """``func`` of each column; with ``func=None`` nothing happens."""
    if function.func is None:
        return refs
    if function.validate:
        refs = tuple(replace(ref, dtype=lowering.dtype(refs)) for ref in refs)
    return tuple(_applied(lowering, function.func, ref) for ref in refs)


def _applied(lowering: Lowering, func: Any, ref: Ref) -> Ref:
    known = FUNCTIONS[func]
    dtype = _result(func, ref.dtype)
    if dtype is None:
        lowering.problem(f"computes {func.__name__!r} of numbers of dtype {ref.dtype}", SINGLE)
        return Cell(lowering.constant(np.zeros(1)), 0, 1)
    low, high = range_of(lowering, ref)
    if low < known.least or (known.beyond and low == known.least):
        lowering.problem(
            f"computes {func.__name__!r}, and the column can hold {low:g}, where that does not "
            "exist",
            f"Raise the feature's lower bound above {known.least:g} in the space.",
        )
        return Cell(lowering.constant(np.zeros(1)), 0, 1)
    if func is np.reciprocal and low <= 0 <= high:
        lowering.problem(
            "computes 'reciprocal', and the column can hold 0",
            "Narrow the feature in the space to numbers on one side of 0.",
        )
        return Cell(lowering.constant(np.zeros(1)), 0, 1)
    function = _in_doubles(lowering, func, ref, known, (low, high))
    stage = Stage(function, known.breaks, known.falls, known.loose)
    if known.steps:
        return replace(_step(lowering, ref, stage, (low, high)), dtype=dtype)
    made = column_function(
        lowering,
        ref,
        [stage],
        known.real,
        table=known.tables,
        flaw=f"{func.__name__!r} of a real column has no exact program",
        remedy=NO_VALUE,
    )
    return replace(made, dtype=dtype)


def _result(func: Any, dtype: npt.DTypeLike) -> np.dtype[Any] | None:
    """The dtype that a function makes of a column's; ``None`` unless doubles or whole numbers."""
    try:
        made: np.dtype[Any] = func(np.ones(1, dtype=dtype)).dtype
    except TypeError:
        return None
    return made if made == DOUBLE or made.kind in "iu" else None


def _in_doubles(
    lowering: Lowering, func: Any, ref: Ref, known: Elementary, ends: tuple[float, float]
) -> Function:
    """The function of doubles, which whole numbers must agree with at the column's ends."""
    least = np.nextafter(known.least, np.inf) if known.beyond else known.least

    def function(values: Floats) -> Floats:
        made: Floats = func(np.maximum(values, least))
        return made

    if ref.dtype.kind in "iu" and np.isfinite(ends).all():
        given = np.array(ends)
        with np.errstate(all="ignore"):
            if not np.array_equal(func(given.astype(ref.dtype)), func(given)):
                lowering.problem(
                    f"computes {func.__name__!r} in {ref.dtype}, which overflows or divides",
                    "Convert the column to float64 before training.",
                )
    return function


def _step(lowering: Lowering, ref: Ref, stage: Stage, ends: tuple[float, float]) -> Cell:
    """A function that is constant between whole numbers, over those that the column reaches."""
    with np.errstate(all="ignore"):
        first, last = (float(value) for value in stage.function(np.array(ends)))
    if not last - first <= LARGEST_TABLE:
        lowering.problem(
            f"rounds a column to more than {LARGEST_TABLE} whole numbers, or to how many is not "
            "known",
            "Narrow the feature in the space, or leave the rounding out.",
        )
        return Cell(lowering.constant(np.zeros(1)), 0, 1)
    thresholds = last_below(stage.function, np.arange(first - 1, last))
    vector = tabulated(lowering, ref, lambda x: stage.function(x)[:, None], thresholds)
    assert vector is not None  # steps are always known
    return imaged(lowering, Cell(vector, 0, 1), ref, stage)

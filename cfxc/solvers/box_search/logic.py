"""Constraints over boxes: every term of a formula as an interval, truth values as 0 and 1.

A box whose formula is [0, 0] holds no admissible point, one of [1, 1] only such; [0, 1] is not
known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...compiler.functional import Symbolic, functional
from ...compiler.splits import last_double
from ...compiler.terms import Pool, Sort, Term, postorder
from ...ir import LabelTuple
from ...ir.interval import ceil_float, floor_float
from ...question.query import Query
from ..encoding.formula import factual_terms

CONSTANT, NUMBER, LABEL, BELOW, SUM, CHOICE, LARGEST, PRODUCT, AT_MOST, NOT, AND, OR = range(12)
WHOLE = 2.0**53  # sums of whole numbers below are exact
WIDEN = 1e-12  # of the magnitude of a sum: above the rounding of its terms


class Logic(NamedTuple):
    """A formula as a program over terms, operands before what they are part of.

    Term i is of kind ``kind[i]`` over the terms ``operand[start[i] : start[i + 1]]``, with
    ``factor`` beside each in sums; ``low``, ``high`` hold constants and bounds, ``what`` the
    feature and ``code`` the label it reads; ``used`` (J,), which features matter; the last term is
    the formula.  It says, among others, that at most ``cap`` of the features ``counted`` (J,) leave
    their factual value; -1 if it does not.
    """

    kind: Ints
    start: Ints
    operand: Ints
    factor: Floats
    low: Floats
    high: Floats
    what: Ints
    code: Ints
    used: npt.NDArray[np.bool_]
    counted: npt.NDArray[np.bool_]
    cap: int


@dataclass(frozen=True)
class Constraints:
    """The constraints of a query, and per feature the cuts at which a part of them changes."""

    logic: Logic
    cuts: list[Floats]


def make_constraints(query: Query) -> Constraints:
    """What must hold of an admissible point beside its domains."""
    if not query.constraints and not query.excluded:
        return _nothing(len(query.domains))
    pool, reads = Pool(), dict[Term, tuple[int, int]]()
    inputs = {
        domain.name: _declared(pool, reads, query, j) for j, domain in enumerate(query.domains)
    }
    scope = {**inputs, **factual_terms(pool, query)}
    requested = [(each.program, scope) for each in query.constraints]
    requested += [(program, inputs) for program in query.excluded]
    facts = [
        functional(program, {name: values[name] for name, _ in program.inputs}, pool)["holds"]
        for program, values in requested
    ]
    made = _compiled(pool.and_(*facts), reads, len(query.domains))
    if query.cap is None:
        return made
    cap, names = query.cap
    counted = np.array([domain.name in names for domain in query.domains])
    return replace(made, logic=made.logic._replace(counted=counted, cap=cap))


@lru_cache(maxsize=32)
def _nothing(features: int) -> Constraints:
    """No constraint at all."""
    return _compiled(Pool().true, {}, features)


def _declared(pool: Pool, reads: dict[Term, tuple[int, int]], query: Query, j: int) -> Any:
    """Feature j as a variable, or as one guard per label."""
    domain = query.domains[j]
    if not domain.is_symbolic:
        whole = domain.sort.kind == "int"
        sort: Sort = "int" if whole else "real"
        variable = pool.unique(domain.name, sort, domain.lower, domain.upper)
        reads[variable] = (j, -1)
        return variable
    labels = LabelTuple(domain.feature.labels)
    allowed = {labels.position(label) for label in domain.allowed}
    guards = []
    for position in range(len(labels)):
        guard = pool.unique(f"{domain.name}={position}", "bool")
        reads[guard] = (j, position)
        guards.append(guard if position in allowed else pool.false)
    return Symbolic(labels, tuple(guards))


def _compiled(root: Term, reads: dict[Term, tuple[int, int]], features: int) -> Constraints:
    cuts: list[list[float]] = [[] for _ in range(features)]
    place: dict[Term, int] = {}
    rows: list[tuple[int, float, float, int, int]] = []
    operands: list[int] = []
    factors: list[float] = []
    start = [0]
    used = np.zeros(features, dtype=np.bool_)
    for term in postorder([root]):
        place[term] = len(rows)
        rows.append(_row(term, reads, cuts))
        if rows[-1][3] >= 0:
            used[rows[-1][3]] = True
        if rows[-1][0] not in (CONSTANT, NUMBER, LABEL, BELOW):
            operands += [place[arg] for arg in term.args]
            linear = term.data if term.kind == "linear" else None
            factors += (
                [_factor(f) for f in linear.coefficients] if linear else [1.0] * len(term.args)
            )
        start.append(len(operands))
    kind, low, high, what, code = zip(*rows, strict=True)
    logic = Logic(
        np.array(kind), np.array(start), np.array(operands, dtype=np.int64),
        np.array(factors, dtype=np.float64), np.array(low, dtype=np.float64),
        np.array(high, dtype=np.float64), np.array(what), np.array(code), used,
        np.zeros(features, dtype=np.bool_), -1,
    )  # fmt: skip
    return Constraints(logic, [np.array(found, dtype=np.float64) for found in cuts])


def _factor(exact: Fraction) -> float:
    """A double beside a coefficient; a whole one only if it is the coefficient itself.

    Sums of whole numbers are taken for exact, all others are widened by more than an ulp.
    """
    near = float(exact)
    if near.is_integer() and Fraction(near) != exact:
        return float(np.nextafter(near, np.inf))
    return near


def _row(
    term: Term, reads: dict[Term, tuple[int, int]], cuts: list[list[float]]
) -> tuple[int, float, float, int, int]:
    """Kind, low, high, feature and label of one term; notes the cuts of plain comparisons."""
    if term.kind == "const":
        value = Fraction(term.data)
        return CONSTANT, floor_float(value), ceil_float(value), -1, -1
    if term.kind == "var":
        j, code = reads[term]
        return (NUMBER if code < 0 else LABEL), 0.0, 0.0, j, code
    if term.kind in ("le", "lt"):
        rounded = term.args[0].kind == "apply" and term.args[0].data == "round_float32"
        source = term.args[0].args[0] if rounded else term.args[0]
        if source.kind == "var" and source in reads:
            cut = last_double(term.data, rounded, strict=term.kind == "lt")
            cuts[reads[source][0]].append(cut)
            return BELOW, cut, cut, reads[source][0], -1
        return AT_MOST, floor_float(term.data), ceil_float(term.data), -1, int(term.kind == "lt")
    if term.kind == "linear":
        constant = term.data.constant
        return SUM, floor_float(constant), ceil_float(constant), -1, -1
    kinds = {"ite": CHOICE, "max": LARGEST, "mul": PRODUCT, "not": NOT, "and": AND, "or": OR}
    if term.kind in kinds:
        return kinds[term.kind], 0.0, 0.0, -1, -1
    low = -np.inf if term.lower is None else floor_float(term.lower)
    high = np.inf if term.upper is None else ceil_float(term.upper)
    return CONSTANT, low, high, -1, -1  # a function of its argument: known by its range alone


@numba.njit(nogil=True)
def truth(
    logic: Any, start: Any, least: Any, largest: Any, first: Any, last: Any, labels: Any,
    low: Any, high: Any,
) -> Any:  # fmt: skip
    """0 if the formula fails everywhere in a box of cells, 2 if it holds everywhere, else 1.

    ``least``, ``largest`` (C,): the values at the ends of cells; ``first``, ``last`` (J,) and
    ``labels`` (J, L): the box; ``low``, ``high``: scratch, one number per term.
    """
    for i in range(logic.kind.size):
        kind, begin, end = logic.kind[i], logic.start[i], logic.start[i + 1]
        low[i], high[i] = logic.low[i], logic.high[i]
        j, code = logic.what[i], logic.code[i]
        if kind in (NUMBER, BELOW):
            bottom, top = least[start[j] + first[j]], largest[start[j] + last[j]]
            if kind == NUMBER:
                low[i], high[i] = bottom, top
            else:
                low[i] = 1.0 if top <= logic.low[i] else 0.0
                high[i] = 1.0 if bottom <= logic.low[i] else 0.0
        elif kind == LABEL:
            low[i], high[i] = _has_only(labels[j], code)
        elif kind == SUM:
            size, whole = max(abs(low[i]), abs(high[i])), low[i] == np.rint(low[i]) == high[i]
            for a in range(begin, end):
                x, f = logic.operand[a], logic.factor[a]
                whole = whole and f == np.rint(f)
                whole = whole and low[x] == np.rint(low[x]) and high[x] == np.rint(high[x])
                low[i] += f * (low[x] if f > 0 else high[x])
                high[i] += f * (high[x] if f > 0 else low[x])
                size += abs(f) * max(abs(low[x]), abs(high[x]))
            if not (whole and size < WHOLE):
                low[i] -= WIDEN * size
                high[i] += WIDEN * size
        elif kind == CHOICE:
            c, x, y = logic.operand[begin], logic.operand[begin + 1], logic.operand[begin + 2]
            low[i] = low[x] if low[c] == 1 else low[y] if high[c] == 0 else min(low[x], low[y])
            high[i] = high[x] if low[c] == 1 else high[y] if high[c] == 0 else max(high[x], high[y])
        elif kind == LARGEST:
            low[i], high[i] = -np.inf, -np.inf
            for a in range(begin, end):
                low[i] = max(low[i], low[logic.operand[a]])
                high[i] = max(high[i], high[logic.operand[a]])
        elif kind == PRODUCT:
            low[i], high[i] = _product(logic, begin, end, low, high)
        elif kind == AT_MOST:
            x, strict = logic.operand[begin], code == 1
            bottom, top = logic.low[i], logic.high[i]
            low[i] = 1.0 if high[x] < bottom or (high[x] == bottom and not strict) else 0.0
            high[i] = 1.0 if low[x] < top or (low[x] == top and not strict) else 0.0
        elif kind == NOT:
            x = logic.operand[begin]
            low[i], high[i] = 1.0 - high[x], 1.0 - low[x]
        elif kind == AND:
            low[i], high[i] = 1.0, 1.0
            for a in range(begin, end):
                low[i] = min(low[i], low[logic.operand[a]])
                high[i] = min(high[i], high[logic.operand[a]])
        elif kind == OR:
            low[i], high[i] = 0.0, 0.0
            for a in range(begin, end):
                low[i] = max(low[i], low[logic.operand[a]])
                high[i] = max(high[i], high[logic.operand[a]])
    root = logic.kind.size - 1
    return int(low[root] + high[root])


@numba.njit(nogil=True)
def _has_only(labels: Any, code: Any) -> Any:
    """Whether a set of labels is that one alone, and whether it has it."""
    others, has = False, False
    for word in range(labels.size):
        bit = np.uint64(1) << np.uint64(code % 64) if word == code // 64 else np.uint64(0)
        has = has or labels[word] & bit != 0
        others = others or labels[word] & ~bit != 0
    return (1.0 if has and not others else 0.0), (1.0 if has else 0.0)


@numba.njit(nogil=True)
def _product(logic: Any, begin: Any, end: Any, low: Any, high: Any) -> Any:
    """The interval of a product, rounded outward."""
    bottom, top = 1.0, 1.0
    for a in range(begin, end):
        x = logic.operand[a]
        corners = (bottom * low[x], bottom * high[x], top * low[x], top * high[x])
        bottom, top = min(corners), max(corners)
        bottom -= WIDEN * abs(bottom)
        top += WIDEN * abs(top)
    if np.isnan(bottom) or np.isnan(top):  # 0 times infinity
        return -np.inf, np.inf
    return bottom, top


__all__ = ["Constraints", "Logic", "make_constraints", "truth"]

"""Constraints over boxes: every term of a formula as an interval, truth values as 0 and 1.

A box whose formula is [0, 0] holds no admissible point, one of [1, 1] only such; [0, 1] is not
known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Bools, Floats, Ints
from ...compiler.functional import Symbolic, functional
from ...compiler.splits import last_double
from ...compiler.terms import Pool, Sort, Term, postorder
from ...ir.interval import ceil_float, floor_float
from ...question.diversity import Measured
from ...question.domain import Domain
from ...question.query import Query
from ..encoding.formula import factual_terms

CONSTANT, NUMBER, LABEL, BELOW, SUM, CHOICE, LARGEST, PRODUCT, AT_MOST, NOT, AND, OR = range(12)


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
    used: Bools
    counted: Bools
    cap: int


@dataclass(frozen=True)
class Constraints:
    """The constraints of a query, and per feature the cuts at which a part of them changes.

    ``least``: the term that stands for the least difference from other points that is asked for,
    whose ``low`` and ``high`` a search raises; -1 without.
    """

    logic: Logic
    cuts: list[Floats]
    least: int = -1


def make_constraints(query: Query, measured: Measured | None = None) -> Constraints:
    """What must hold of an admissible point beside its domains.

    Args:
        measured: A difference from other points, of which the least that is asked for will rise.
    """
    if not query.constraints and not query.excluded and measured is None:
        return _nothing(len(query.domains))
    pool, reads = Pool(), dict[Term, tuple[int, int]]()
    inputs = {
        domain.name: _declared(pool, reads, query, j) for j, domain in enumerate(query.domains)
    }
    scope = {**inputs, **factual_terms(pool, query)}
    requested = [(each.program, scope) for each in query.constraints]
    requested += [(program, inputs) for program in query.excluded]
    facts = [
        functional(program, program.arguments(values), pool)["holds"]
        for program, values in requested
    ]
    end = pool.unique("least difference", "real", 0, 2)  # nothing follows from its range
    if measured is not None:
        differences = list(_differences(pool, inputs, measured))
        if measured.aggregate == "mean":
            share = Fraction(1, len(differences))
            differences = [pool.linear((share, each) for each in differences)]
        facts += [pool.ge(each, end) for each in differences]
    made = _compiled(pool.and_(*facts), reads, len(query.domains), end)
    if measured is not None:
        made = replace(made, cuts=_with_ends(made.cuts, query, measured))
    if query.cap is None:
        return made
    cap, names = query.cap
    counted = np.array([domain.name in names for domain in query.domains])
    return replace(made, logic=made.logic._replace(counted=counted, cap=cap))


@lru_cache(maxsize=32)
def _nothing(features: int) -> Constraints:
    """No constraint at all."""
    return _compiled(Pool().true, {}, features)


def _differences(pool: Pool, inputs: Mapping[str, Any], measured: Measured) -> Iterator[Term]:
    """How much a row differs from each of the points."""
    weights = [feature.weight for feature in measured.space]
    whole = max(weights) if measured.measure == "linf" else sum(weights)
    for side in measured.sides:
        deltas = [_difference(pool, inputs[domain.name], domain, measured) for domain in side]
        parts = [(weight / whole, delta) for weight, delta in zip(weights, deltas, strict=True)]
        if measured.measure == "linf":
            yield pool.max(*(pool.scale(*part) for part in parts))
        else:
            yield pool.linear(parts)


def _difference(pool: Pool, x: Any, domain: Domain, measured: Measured) -> Term:
    """δ_j of one feature from the value of a point; of l0, whether there is any."""
    feature, here = domain.feature, domain.factual

    def counted(value: Fraction) -> Fraction:
        return Fraction(value > 0) if measured.measure == "l0" else value

    if isinstance(x, Symbolic):
        worth = [counted(domain.delta(label)) for label in x.labels]
        return pool.linear(zip(worth, map(pool.indicator, x.guards), strict=True))
    if not feature.range:
        return pool.zero
    away = pool.linear([(1, x)], -Fraction(here))
    found = pool.scale(1 / feature.range, pool.abs(away))
    if measured.measure == "l0":
        found = pool.indicator(pool.not_(pool.eq(away, pool.zero)))
    if not feature.missing:
        return found
    assert feature.absent is not None
    lost = pool.const(counted(domain.delta(feature.absent)))
    there = pool.one if domain.is_absent else found
    return pool.ite(pool.at_most(x, feature.absent), lost, there)


def _with_ends(cuts: list[Floats], query: Query, measured: Measured) -> list[Floats]:
    """Cuts at the values of the points and of the factual, so that cells lie to one side of them.

    One below a point's value too, where it counts whether a number is another one.
    """
    found = []
    for own, domain in zip(cuts, query.domains, strict=True):
        values = [domain.factual, *(point[domain.name] for point in measured.points)]
        ends = np.array([] if domain.is_symbolic else [float(value) for value in values])
        below = np.nextafter(ends, -np.inf) if measured.measure == "l0" else ends
        found.append(np.concatenate([own, ends, below]))
    return found


def _declared(pool: Pool, reads: dict[Term, tuple[int, int]], query: Query, j: int) -> Any:
    """Feature j as a variable, or as one guard per label."""
    domain = query.domains[j]
    if not domain.is_symbolic:
        whole = domain.sort.kind == "int"
        sort: Sort = "int" if whole else "real"
        variable = pool.unique(domain.name, sort, domain.lower, domain.upper)
        reads[variable] = (j, -1)
        return variable
    labels = domain.labels
    allowed = {labels.position(label) for label in domain.allowed}
    guards = []
    for position in range(len(labels)):
        guard = pool.unique(f"{domain.name}={position}", "bool")
        reads[guard] = (j, position)
        guards.append(guard if position in allowed else pool.false)
    return Symbolic(labels, tuple(guards))


def _compiled(
    root: Term, reads: dict[Term, tuple[int, int]], features: int, least: Term | None = None
) -> Constraints:
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
    ends = [np.array(found, dtype=np.float64) for found in cuts]
    return Constraints(logic, ends, -1 if least is None else place.get(least, -1))


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
    if term.kind == "var" and term in reads:
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

"""Users' distances that are mixes of weighted norms: every engine and certificate takes them so.

A program is read as ``Σ a_j [δ_j > 0] + Σ b_j δ_j + max e_j δ_j``.  Where a, b and e are multiples
of one vector w >= 0, it is S times a mix of l0, l1 and linf under the weights w.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ...ir import Let, Literal, Op, Operand, Program, ops
from ...space import FeatureSpace
from .delta import delta_name
from .distance import RESULT, Distance, Norms, combination

Vector = Mapping[int, Fraction]
ZERO = Fraction(0)


@dataclass(frozen=True)
class Sum:
    """``constant + Σ l0_j [δ_j > 0] + Σ l1_j δ_j + max peak_j δ_j``, by positions of features."""

    constant: Fraction = ZERO
    l0: Vector = field(default_factory=dict)
    l1: Vector = field(default_factory=dict)
    peak: Vector = field(default_factory=dict)

    def times(self, factor: Fraction) -> Sum | None:
        """A multiple; of a maximum by what is not negative alone."""
        if factor < 0 and self.peak:
            return None
        parts = ({j: factor * y for j, y in each.items()} for each in (self.l0, self.l1, self.peak))
        return Sum(self.constant * factor, *parts)

    def plus(self, other: Sum) -> Sum | None:
        """The sum; of two maxima there is none."""
        if self.peak and other.peak:
            return None
        l0, l1 = _added(self.l0, other.l0), _added(self.l1, other.l1)
        return Sum(self.constant + other.constant, l0, l1, {**self.peak, **other.peak})

    @property
    def as_peak(self) -> Vector | None:
        """What it is a maximum of, if it is one, or the change of one feature, or 0."""
        if self.constant or self.l0 or (self.l1 and (self.peak or len(self.l1) > 1)):
            return None
        found = {**self.peak, **self.l1}
        return found if min(found.values(), default=ZERO) >= 0 else None


def recognised(distance: Distance, space: FeatureSpace) -> tuple[Distance, FeatureSpace]:
    """A user's distance as a mix of norms over a space with its weights, where it is one.

    Otherwise both as they are.
    """
    found = None if distance.norms is not None or distance.whitening else _read(distance.program)
    if found is None or found.constant:
        return distance, space
    vectors = [found.l0, found.l1, found.peak]
    weights = next((each for each in (found.l1, found.l0, found.peak) if any(each.values())), None)
    if weights is None or min(y for each in vectors for y in each.values()) < 0:
        return distance, space
    shares = [_share(each, weights) for each in vectors]
    if None in shares:
        return distance, space
    own = [weights.get(j, ZERO) for j in range(1, len(space) + 1)]
    sizes = sum(own, ZERO), sum(own, ZERO), max(own)
    parts = [share * size for share, size in zip(shares, sizes, strict=True) if share is not None]
    scale = sum(parts, ZERO)
    for feature, weight in zip(space, own, strict=True):
        space = space.replace(feature.name, weight=weight)
    mixed = combination(Norms(*(part / scale for part in parts)), space)
    return replace(mixed, name=distance.name, text=distance.text, scale=scale), space


def _share(vector: Vector, weights: Vector) -> Fraction | None:
    """How many times the weights a vector is; ``None`` if it is no multiple of them."""
    if not any(vector.values()):
        return ZERO
    j = next(j for j, weight in weights.items() if weight)
    share = vector.get(j, ZERO) / weights[j]
    same = all(vector.get(i, ZERO) == share * weights.get(i, ZERO) for i in {*vector, *weights})
    return share if same else None


def _read(program: Program) -> Sum | None:
    """What a straight program adds up; ``None`` if it is something else."""
    positions = {delta_name(j): j for j in range(1, len(program.inputs) + 1)}
    known: dict[str, Sum | int] = {}
    for name, _ in program.inputs:
        if name in positions:
            known[name] = Sum(l1={positions[name]: Fraction(1)})
    for statement in program.body:
        if not isinstance(statement, Let):
            return None
        value = _value(statement.op, known)
        if value is not None:
            known[statement.name] = value
    found = _of(program.output(RESULT), known)
    return found if isinstance(found, Sum) else None


def _of(operand: Operand, known: Mapping[str, Sum | int]) -> Sum | int | None:
    if isinstance(operand, Literal):
        is_number = isinstance(operand.value, int | float | Fraction)
        return Sum(Fraction(operand.value)) if is_number else None
    return known.get(operand)


def _value(op: Op, known: Mapping[str, Sum | int]) -> Sum | int | None:
    """What an op gives of sums; a whole number j stands for whether δ_j > 0."""
    given = [_of(operand, known) for operand in op.operands()]
    if any(each is None for each in given):
        return None
    sums = [each for each in given if isinstance(each, Sum)]
    if isinstance(op, ops.Select):
        return _chosen(given)
    if len(sums) < len(given):
        return None
    if isinstance(op, ops.Identity | ops.ToReal):
        return sums[0]
    if isinstance(op, ops.Gt | ops.Lt):
        more, less = sums if isinstance(op, ops.Gt) else sums[::-1]
        alone = more.as_peak if not more.peak and less == Sum() else None
        return next(iter(alone)) if alone and all(alone.values()) else None
    if isinstance(op, ops.Add | ops.Sub):
        second = sums[1] if isinstance(op, ops.Add) else sums[1].times(Fraction(-1))
        return None if second is None else sums[0].plus(second)
    if isinstance(op, ops.Maximum):
        peaks = [each.as_peak for each in sums]
        if any(each is None for each in peaks):
            return None
        largest: dict[int, Fraction] = {}
        for each in peaks:
            for j, y in (each or {}).items():
                largest[j] = max(y, largest.get(j, ZERO))
        return Sum(peak=largest)
    return _product(op, sums)


def _product(op: Op, sums: list[Sum]) -> Sum | None:
    plain = [each == Sum(each.constant) for each in sums]
    if isinstance(op, ops.Mul) and any(plain):
        first, second = sums if plain[1] else sums[::-1]
        return first.times(second.constant)
    if isinstance(op, ops.Div) and plain[1] and sums[1].constant:
        return sums[0].times(1 / sums[1].constant)
    return None


def _chosen(given: list[Sum | int | None]) -> Sum | None:
    """``a`` where δ_j > 0, else 0."""
    test, one, other = given
    constant = isinstance(one, Sum) and one == Sum(one.constant) and other == Sum()
    if isinstance(test, int) and isinstance(one, Sum) and constant:
        return Sum(l0={test: one.constant})
    return None


def _added(one: Vector, other: Vector) -> Vector:
    return {j: one.get(j, ZERO) + other.get(j, ZERO) for j in {**one, **other}}


__all__ = ["recognised"]

"""Users' distances that are mixes of weighted norms: every engine and certificate takes them so.

A program is read as ``Σ a_j [δ_j > 0] + Σ b_j δ_j + max e_j δ_j``.  Where a, b and e are multiples
of one vector w >= 0, it is S times a mix of l0, l1 and linf under the weights w.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from ...errors import InvalidInputError
from ...ir import Let, Literal, Op, Operand, Program, ops
from ...ir.linear import ZERO, LinearForm
from ...space import FeatureSpace
from .delta import delta_name
from .distance import RESULT, Distance, Norms, combination

Vector = dict[int, Fraction]
# of ("l0", j), 1 where δ_j > 0; ("l1", j), δ_j; and the members ("peak", j) of one maximum
Sum = LinearForm[tuple[str, int]]
NOTHING: Sum = LinearForm({})
EXTREME = Fraction(10**30)
"""Numbers beyond it, or below one over it, are not weighed against others in doubles."""


def is_extreme(number: object) -> bool:
    """Whether a number, not 0, is beyond ``EXTREME``; other values are not."""
    if not isinstance(number, int | float | Fraction) or not number:
        return False
    return not 1 / EXTREME <= abs(Fraction(number)) <= EXTREME


def has_extremes(distance: Distance) -> bool:
    """Whether the program of a user's distance names such a number."""
    own = distance.norms is None and distance.whitening is None
    lets = distance.program.lets() if own else ()
    operands = (each for let in lets for each in let.op.operands())
    return any(isinstance(each, Literal) and is_extreme(each.value) for each in operands)


def recognised(
    distance: Distance, space: FeatureSpace, *, keep: bool = False
) -> tuple[Distance, FeatureSpace]:
    """A user's distance as a mix of norms over a space with its weights, where it is one.

    Otherwise both as they are; with ``keep``, too, where its weights are no multiple of the space's
    own, which something else is measured by.
    """
    found = None if distance.norms is not None or distance.whitening else _read(distance.program)
    if found is None or found.constant:
        return distance, space
    vectors = [_part(found, kind) for kind in ("l0", "l1", "peak")]
    if min(found.terms.values(), default=ZERO) <= 0:
        return distance, space
    weights = vectors[1] or vectors[0] or vectors[2]
    given = {j: feature.weight for j, feature in enumerate(space, 1) if feature.weight}
    if keep and (not given or _share(weights, given) is None):
        return distance, space
    shares = [_share(each, weights) for each in vectors]
    if None in shares:
        return distance, space
    own = [weights.get(j, ZERO) for j in range(1, len(space) + 1)]
    sizes = sum(own, ZERO), sum(own, ZERO), max(own)
    parts = [share * size for share, size in zip(shares, sizes, strict=True) if share is not None]
    scale = sum(parts, ZERO)
    weighed = space
    try:
        for feature, weight in zip(space, own, strict=True):
            weighed = weighed.replace(feature.name, weight=weight)
    except InvalidInputError:  # too many digits to be written
        return distance, space
    mixed = combination(Norms(*(part / scale for part in parts)), weighed)
    return replace(mixed, name=distance.name, text=distance.text, scale=scale), weighed


def _share(vector: Vector, weights: Vector) -> Fraction | None:
    """How many times the weights a vector is; ``None`` if it is no multiple of them."""
    j = next(iter(weights))
    share = vector.get(j, ZERO) / weights[j] if vector else ZERO
    same = not vector or vector == {j: share * weight for j, weight in weights.items()}
    return share if same else None


def _read(program: Program) -> Sum | None:
    """What a straight program adds up; ``None`` if it is something else."""
    positions = {delta_name(j): j for j in range(1, len(program.inputs) + 1)}
    known: dict[str, Sum | int] = {}
    for name, _ in program.inputs:
        if name in positions:
            known[name] = LinearForm.one(("l1", positions[name]))
    for statement in program.body:
        if not isinstance(statement, Let):
            return None
        value = _value(statement.op, known)
        if value is not None:
            known[statement.name] = value
    found = _of(program.output(RESULT), known)
    return found if isinstance(found, LinearForm) else None


def _part(form: Sum, kind: str) -> Vector:
    """The factors of one kind of sources, by position."""
    return {j: factor for (own, j), factor in form.terms.items() if own == kind}


def _times(factor: Fraction, form: Sum) -> Sum | None:
    """A multiple; of a maximum by what is not negative alone."""
    return None if factor < 0 and _part(form, "peak") else factor * form


def _peak(form: Sum) -> Vector | None:
    """What it is a maximum of, if it is one, or the change of one feature, or 0."""
    kinds = {kind for kind, _ in form.terms}
    one = kinds <= {"peak"} or (kinds == {"l1"} and len(form.terms) == 1)
    if form.constant or not one or min(form.terms.values(), default=ZERO) < 0:
        return None
    return {j: factor for (_, j), factor in form.terms.items()}


def _of(operand: Operand, known: Mapping[str, Sum | int]) -> Sum | int | None:
    if isinstance(operand, Literal):
        is_number = isinstance(operand.value, int | float | Fraction)
        return LinearForm.of(operand.value) if is_number else None
    return known.get(operand)


def _value(op: Op, known: Mapping[str, Sum | int]) -> Sum | int | None:
    """What an op gives of sums; a whole number j stands for whether δ_j > 0."""
    given = [_of(operand, known) for operand in op.operands()]
    sums = [each for each in given if isinstance(each, LinearForm)]
    if isinstance(op, ops.Select):
        return _chosen(given)
    if not sums or len(sums) < len(given):
        return None
    if isinstance(op, ops.Identity | ops.ToReal):
        return sums[0]
    if isinstance(op, ops.Gt | ops.Lt):
        more, less = sums if isinstance(op, ops.Gt) else sums[::-1]
        alone = {} if _part(more, "peak") or less != NOTHING else _peak(more)
        return next(iter(alone)) if alone else None
    if isinstance(op, ops.Add | ops.Sub):
        second = sums[1] if isinstance(op, ops.Add) else _times(Fraction(-1), sums[1])
        if second is None or (_part(sums[0], "peak") and _part(second, "peak")):
            return None
        return sums[0] + second
    if isinstance(op, ops.Maximum):
        return _largest(sums)
    return _product(op, sums)


def _largest(sums: list[Sum]) -> Sum | None:
    largest: dict[tuple[str, int], Fraction] = {}
    for each in map(_peak, sums):
        if each is None:
            return None
        for j, factor in each.items():
            largest["peak", j] = max(factor, largest.get(("peak", j), ZERO))
    return LinearForm(largest)


def _product(op: Op, sums: list[Sum]) -> Sum | None:
    plain = [not each.terms for each in sums]
    if isinstance(op, ops.Mul) and any(plain):
        first, second = sums if plain[1] else sums[::-1]
        return _times(second.constant, first)
    if isinstance(op, ops.Div) and plain[1] and sums[1].constant:
        return _times(1 / sums[1].constant, sums[0])
    return None


def _chosen(given: list[Sum | int | None]) -> Sum | None:
    """``a`` where δ_j > 0, else 0."""
    test, one, other = given
    if isinstance(test, int) and isinstance(one, LinearForm) and not one.terms:
        return one.constant * LinearForm.one(("l0", test)) if other == NOTHING else None
    return None

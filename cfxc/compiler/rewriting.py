"""Formulae rewritten: substitution, absorbed rounding; and where terms may be made larger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import numpy as np

from ..errors import VerificationError
from ..ir.float32 import round_to_float32
from ..stopping import polled
from .terms import Pool, Term, postorder


def substitute(pool: Pool, roots: Iterable[Term], mapping: Mapping[Term, Term]) -> list[Term]:
    """The roots with every key of ``mapping`` replaced by its value, rebuilt in ``pool``."""
    images: dict[Term, Term] = dict(mapping)
    roots = list(roots)
    for term in polled(postorder(roots)):
        if term not in images:
            images[term] = rebuild(pool, term, [images[arg] for arg in term.args])
    return [images[root] for root in roots]


def rebuild(pool: Pool, term: Term, args: list[Term]) -> Term:
    """The same node over other arguments, simplified."""
    if all(new is old for new, old in zip(args, term.args, strict=True)):
        return term
    kind = term.kind
    if kind == "linear":
        return pool.linear(zip(term.data.coefficients, args, strict=True), term.data.constant)
    if kind == "ite":
        return pool.ite(*args)
    if kind in ("le", "lt"):
        return pool.at_most(args[0], term.data, strict=kind == "lt")
    if kind == "apply":
        return pool.apply(term.data, args[0], term.lower, term.upper)
    makers: dict[str, Callable[..., Term]] = {
        "not": pool.not_,
        "and": pool.and_,
        "or": pool.or_,
        "max": pool.max,
        "mul": pool.mul,
    }
    return makers[kind](*args)


def is_rounding(term: Term) -> bool:
    """Whether a term is some other one, rounded to float32."""
    return term.kind == "apply" and term.data == "round_float32"


class AbsorbingPool(Pool):
    """A pool in which ``round_float32(x) <= c`` becomes a comparison of x itself.

    Rounding is monotone: with a the largest float32 that is at most c (below c for ``<``) and b
    the next one, ``round_float32(x) <= c`` iff x is below their midpoint, or equal to it if the
    midpoint rounds to a.  Exact over the reals.  Constants at the ends of the float32 range, and
    roundings inside sums, stay.
    """

    def _compare(self, body: Term, bound: Fraction, strict: bool) -> Term:
        found = _midpoint(bound, strict) if is_rounding(body) else None
        if found is None:
            return super()._compare(body, bound, strict)
        middle, stays = found
        return self.at_most(body.args[0], middle, strict=not stays)


def _midpoint(bound: Fraction, strict: bool) -> tuple[Fraction, bool] | None:
    """Where rounding passes ``bound``, and whether that point itself still rounds below it."""
    try:
        nearest = round_to_float32(bound)
    except VerificationError:  # beyond all float32 numbers
        return None
    beyond = nearest >= bound if strict else nearest > bound
    single = np.float32(float(nearest))
    with np.errstate(over="ignore", under="ignore"):
        below = np.nextafter(single, np.float32(-np.inf)) if beyond else single
        above = np.nextafter(below, np.float32(np.inf))
    if not (np.isfinite(below) and np.isfinite(above)):
        return None
    middle = (Fraction(float(below)) + Fraction(float(above))) / 2
    return middle, round_to_float32(middle) == Fraction(float(below))


def two_sided(formula: Term) -> set[Term]:
    """Terms whose being too large could wrongly help to satisfy the formula.

    Walks down with polarities.  A Boolean asks to be true (1) or false (-1); a number asks to be
    small (1) or large (-1).  A numeric term never reached with -1 is *one-sided*: any larger value
    in its place only makes the formula harder, so ``m >= t`` defines it well enough.
    """
    seen: set[tuple[Term, int]] = set()
    stack = [(formula, 1)]
    while stack:
        item = stack.pop()
        if item in seen:
            continue
        seen.add(item)
        term, side = item
        if term.kind == "linear":
            pairs = zip(term.data.coefficients, term.args, strict=True)
            stack += [(arg, side if factor > 0 else -side) for factor, arg in pairs]
        elif term.kind == "not":
            stack.append((term.args[0], -side))
        elif term.kind in ("mul", "apply"):
            stack += [(arg, s) for arg in term.args for s in (1, -1)]
        elif term.kind == "ite":
            condition, *branches = term.args
            stack += [(condition, 1), (condition, -1), *((arg, side) for arg in branches)]
        else:
            stack += [(arg, side) for arg in term.args]
    return {term for term, side in seen if side < 0}

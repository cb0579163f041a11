"""Replacing terms inside a formula, with re-simplification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from .terms import Pool, Term, postorder


def substitute(pool: Pool, roots: Iterable[Term], mapping: Mapping[Term, Term]) -> list[Term]:
    """The roots with every key of ``mapping`` replaced by its value, rebuilt in ``pool``."""
    images: dict[Term, Term] = dict(mapping)
    roots = list(roots)
    for term in postorder(roots):
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

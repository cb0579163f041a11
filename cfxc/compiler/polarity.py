"""Where a numeric term may safely be replaced by something larger."""

from __future__ import annotations

from .terms import Term


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

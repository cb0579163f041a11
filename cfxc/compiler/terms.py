"""Terms of first-order logic over linear (and some nonlinear) arithmetic, hash-consed.

A :class:`Pool` makes terms; equal terms are the same object.  Every term is sorted at creation,
simplified by exact arithmetic, and carries sound bounds, so that atoms already decided by the
ranges of the variables never reach a solver.  All walkers are iterative.

Canonical forms: arithmetic is flattened to ``linear`` (sum of coefficient * term + constant);
an atom is ``t <= c`` or ``t < c`` with the leading coefficient of t equal to 1, so that one
comparison has one term and its negation is ``not``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import floor
from operator import attrgetter, le, lt, mul
from typing import Any, Literal

from ..ir.float32 import round_to_float32
from ..ir.linear import ONE, ZERO, Number, Parts, bounded
from ..stopping import poll

Sort = Literal["bool", "int", "real"]
Kind = Literal[
    "const", "var", "linear", "max", "mul", "apply", "ite", "le", "lt", "not", "and", "or"
]
EVERY, LONG = 256, 16  # terms between two looks at the clock; a sum of more takes one of its own


class Term:
    """A node of the shared formula graph; compare with ``is``."""

    __slots__ = ("args", "data", "finite", "id", "kind", "lower", "sort", "upper")

    id: int
    kind: Kind
    sort: Sort
    args: tuple[Term, ...]
    data: Any
    lower: Fraction | None
    upper: Fraction | None
    finite: bool  # a numeric term whose leaves under ite are all constants

    def __repr__(self) -> str:
        return f"<{self.kind} #{self.id}>"

    @property
    def is_true(self) -> bool:
        return self.kind == "const" and self.data is True

    @property
    def is_false(self) -> bool:
        return self.kind == "const" and self.data is False

    @property
    def value(self) -> Fraction | None:
        """The number a constant numeric term stands for, else ``None``."""
        return self.data if self.kind == "const" and self.sort != "bool" else None


@dataclass(frozen=True, slots=True)
class Linear:
    """Coefficients aligned with the term's ``args``, and the constant."""

    coefficients: tuple[Fraction, ...]
    constant: Fraction


class Pool:
    """Creates and owns terms.  Variables are declared once, with their range."""

    def __init__(self) -> None:
        self._terms: dict[tuple[Any, ...], Term] = {}
        self.variables: dict[str, Term] = {}
        self._declared: dict[Hashable, Term] = {}
        self._fresh = 0
        self._groups: dict[Term, tuple[Term, ...]] = {}
        self.true = self._make("const", "bool", (), True)
        self.false = self._make("const", "bool", (), False)
        self.zero, self.one = self.const(0), self.const(1)

    # -- creation ---------------------------------------------------------------------------------

    def _make(
        self,
        kind: Kind,
        sort: Sort,
        args: tuple[Term, ...],
        data: Any = None,
        bounds: tuple[Fraction | None, Fraction | None] = (None, None),
        finite: bool = False,
    ) -> Term:
        key = (kind, sort, data, *(arg.id for arg in args))
        found = self._terms.get(key)
        if found is None:
            if not len(self._terms) % EVERY:
                poll()
            found = Term()
            found.id, found.kind, found.sort = len(self._terms), kind, sort
            found.args, found.data, found.finite = args, data, finite
            found.lower, found.upper = bounds
            self._terms[key] = found
        return found

    def __len__(self) -> int:
        return len(self._terms)

    def const(self, value: Number) -> Term:
        """A number."""
        exact = Fraction(value)
        sort: Sort = "int" if exact.denominator == 1 else "real"
        return self._make("const", sort, (), exact, (exact, exact), True)

    def truth(self, value: bool) -> Term:
        return self.true if value else self.false

    def var(
        self,
        name: str,
        sort: Sort,
        lower: Number | None = None,
        upper: Number | None = None,
        key: Hashable = None,
    ) -> Term:
        """A variable; declared twice it must have the same sort and range.

        ``key`` is what it is recognised by (default: its name): variables of different keys differ,
        and of two with one name the second is primed.
        """
        low, high = _exact(lower), _exact(upper)
        key = name if key is None else key
        known = self._declared.get(key)
        if known is None:
            while name in self.variables:
                name += "'"
            known = self._make("var", sort, (), name, (low, high))
            self.variables[name] = self._declared[key] = known
        if (known.sort, known.lower, known.upper) != (sort, low, high):
            raise ValueError(f"variable {name} is declared twice, differently")
        return known

    def fresh(
        self, hint: str, sort: Sort, lower: Number | None = None, upper: Number | None = None
    ) -> Term:
        """A variable with a name not used so far."""
        while f"{hint}!{self._fresh}" in self.variables:
            self._fresh += 1
        return self.var(f"{hint}!{self._fresh}", sort, lower, upper)

    def unique(
        self, name: str, sort: Sort, lower: Number | None = None, upper: Number | None = None
    ) -> Term:
        """A new variable called ``name``, primed if that is taken."""
        return self.var(name, sort, lower, upper, key=object())

    def group(self, guards: Sequence[Term]) -> None:
        """Declare that exactly one of these Boolean variables holds; tightens bounds of sums."""
        self._groups.update(dict.fromkeys(guards, tuple(guards)))

    @property
    def groups(self) -> tuple[tuple[Term, ...], ...]:
        """The groups of Boolean variables of which exactly one holds, in order of declaration."""
        return tuple(dict.fromkeys(self._groups.values()))

    # -- arithmetic -------------------------------------------------------------------------------

    def linear(self, parts: Iterable[tuple[Number, Term]], constant: Number = 0) -> Term:
        """``sum coefficient * term + constant``, flattened and simplified."""
        total = Fraction(constant)
        coefficients: dict[Term, Fraction] = {}
        for factor, term in parts:
            if term.kind == "const":
                total += factor * term.data
            elif term.kind == "linear":
                total += factor * term.data.constant
                for inner, arg in zip(term.data.coefficients, term.args, strict=True):
                    coefficients[arg] = coefficients.get(arg, ZERO) + factor * inner
            elif term in coefficients:
                coefficients[term] += factor
            else:
                coefficients[term] = Fraction(factor)
        if len(coefficients) > LONG:
            poll()
        kept = sorted((pair for pair in coefficients.items() if pair[1]), key=lambda p: p[0].id)
        if not kept:
            return self.const(total)
        if len(kept) == 1 and kept[0][1] == 1 and not total:
            return kept[0][0]
        args = tuple(term for term, _ in kept)
        data = Linear(tuple(factor for _, factor in kept), total)
        whole = total.denominator == 1 and all(
            term.sort == "int" and factor.denominator == 1 for term, factor in kept
        )
        bounds = _linear_bounds(args, data, self._groups)
        return self._make("linear", "int" if whole else "real", args, data, bounds)

    def add(self, *terms: Term) -> Term:
        return self.linear((1, term) for term in terms)

    def sub(self, x: Term, y: Term) -> Term:
        return self.linear(((1, x), (-1, y)))

    def neg(self, x: Term) -> Term:
        return self.linear(((-1, x),))

    def scale(self, factor: Number, x: Term) -> Term:
        return self.linear(((factor, x),))

    def mul(self, x: Term, y: Term) -> Term:
        """A product; linear if one side is constant, pushed into finite choices, else ``mul``."""
        for a, b in ((x, y), (y, x)):
            if a.value is not None:
                return self.scale(a.value, b)
        for a, b in ((x, y), (y, x)):
            if a.kind == "ite" and a.finite:
                return self.map_leaves(a, partial(self.mul, b))
        first, second = sorted((x, y), key=lambda term: term.id)
        sort: Sort = "int" if x.sort == y.sort == "int" else "real"
        corners = _products(x, y)
        bounds = (min(corners), max(corners)) if corners else (None, None)
        return self._make("mul", sort, (first, second), None, bounds)

    def _equals_leaves(self, choice: Term, value: Fraction) -> Term:
        return self.map_leaves(choice, lambda leaf: self.truth(leaf.data == value))

    def apply(
        self, function: str, x: Term, lower: Number | None = None, upper: Number | None = None
    ) -> Term:
        """An uninterpreted or transcendental function of one argument, Real, with known range."""
        return self._make("apply", "real", (x,), function, (_exact(lower), _exact(upper)))

    def max(self, *terms: Term) -> Term:
        """The largest of the terms."""
        flat: dict[Term, None] = {}
        for term in terms:
            flat.update(dict.fromkeys(term.args if term.kind == "max" else (term,)))
        lower = max((term.lower for term in flat if term.lower is not None), default=None)
        if lower is not None:  # drop what can never exceed the one that is at least so large
            best = next(term for term in flat if term.lower == lower)
            flat = {t: None for t in flat if t is best or t.upper is None or t.upper > lower}
        if len(flat) == 1:
            return next(iter(flat))
        args = tuple(sorted(flat, key=lambda term: term.id))
        sort: Sort = "int" if all(t.sort == "int" for t in args) else "real"
        uppers = [t.upper for t in args]
        upper = None if None in uppers else max(u for u in uppers if u is not None)
        return self._make("max", sort, args, None, (lower, upper))

    def min(self, *terms: Term) -> Term:
        return self.neg(self.max(*map(self.neg, terms)))

    def abs(self, x: Term) -> Term:
        return self.max(x, self.neg(x))

    def ite(self, condition: Term, x: Term, y: Term) -> Term:
        """``x`` if ``condition`` else ``y``; of Booleans or of numbers."""
        if condition.is_true or x is y:
            return x
        if condition.is_false:
            return y
        if x.sort == "bool":
            return self._ite_bool(condition, x, y)
        if condition.kind == "not":
            condition, x, y = condition.args[0], y, x
        sort: Sort = "int" if x.sort == y.sort == "int" else "real"
        lower = None if x.lower is None or y.lower is None else min(x.lower, y.lower)
        upper = None if x.upper is None or y.upper is None else max(x.upper, y.upper)
        finite = x.finite and y.finite
        return self._make("ite", sort, (condition, x, y), None, (lower, upper), finite)

    def indicator(self, condition: Term) -> Term:
        """1 if the Boolean holds, else 0."""
        return self.ite(condition, self.one, self.zero)

    def map_leaves(self, term: Term, function: Callable[[Term], Term]) -> Term:
        """Rebuild nested ites with ``function`` applied to every leaf (memoised, iterative)."""
        done: dict[Term, Term] = {}
        stack = [term]
        while stack:
            top = stack[-1]
            if top in done:
                stack.pop()
            elif top.kind != "ite":
                done[top] = function(top)
                stack.pop()
            else:
                waiting = [branch for branch in top.args[1:] if branch not in done]
                if waiting:
                    stack.extend(waiting)
                else:
                    x, y = (done[branch] for branch in top.args[1:])
                    done[top] = self.ite(top.args[0], x, y)
        return done[term]

    # -- atoms ------------------------------------------------------------------------------------

    def le(self, x: Term, y: Term) -> Term:
        return self._atom(self.sub(x, y), strict=False)

    def lt(self, x: Term, y: Term) -> Term:
        return self._atom(self.sub(x, y), strict=True)

    def ge(self, x: Term, y: Term) -> Term:
        return self.le(y, x)

    def gt(self, x: Term, y: Term) -> Term:
        return self.lt(y, x)

    def eq(self, x: Term, y: Term) -> Term:
        """Equality of numbers (as two inequalities) or of Booleans."""
        if x.sort == "bool":
            return self.ite(x, y, self.not_(y))
        for a, b in ((x, y), (y, x)):
            if a.kind == "ite" and a.finite and b.value is not None:
                return self._equals_leaves(a, b.value)
        return self.and_(self.le(x, y), self.le(y, x))

    def at_most(self, term: Term, bound: Number, strict: bool = False) -> Term:
        """``term <= bound`` (or ``<``)."""
        return self._atom(self.linear(((1, term),), -Fraction(bound)), strict)

    def _atom(self, difference: Term, strict: bool) -> Term:
        """``difference <= 0`` (or ``< 0``) in canonical form."""
        low, high = difference.lower, difference.upper
        if high is not None and (high < 0 or (high == 0 and not strict)):
            return self.true
        if low is not None and (low > 0 or (low == 0 and strict)):
            return self.false
        if difference.kind != "linear":
            return self._compare(difference, Fraction(0), strict)
        data: Linear = difference.data
        lead = data.coefficients[0]
        bound = -data.constant / lead
        body = self.linear(
            (c / lead, arg) for c, arg in zip(data.coefficients, difference.args, strict=True)
        )
        if lead > 0:
            return self._compare(body, bound, strict)
        return self.not_(self._compare(body, bound, not strict))

    def _compare(self, body: Term, bound: Fraction, strict: bool) -> Term:
        """``body <= bound`` (``<`` if strict), where body has no constant part."""
        if body.kind == "ite" and body.finite:
            holds = lt if strict else le
            return self.map_leaves(body, lambda leaf: self.truth(holds(leaf.data, bound)))
        if body.kind == "max":
            return self.and_(*(self.at_most(arg, bound, strict) for arg in body.args))
        if body.sort == "int":  # t < c is t <= ceil(c) - 1, and t <= c is t <= floor(c)
            bound = Fraction(-floor(-bound) - 1 if strict else floor(bound))
            strict = False
        low, high = body.lower, body.upper
        if high is not None and (high < bound or (high == bound and not strict)):
            return self.true
        if low is not None and (low > bound or (low == bound and strict)):
            return self.false
        return self._make("lt" if strict else "le", "bool", (body,), bound)

    # -- connectives ------------------------------------------------------------------------------

    def not_(self, x: Term) -> Term:
        if x.kind == "const":
            return self.truth(not x.data)
        if x.kind == "not":
            return x.args[0]
        return self._make("not", "bool", (x,))

    def and_(self, *parts: Term) -> Term:
        return self._join("and", parts, self.true, self.false)

    def or_(self, *parts: Term) -> Term:
        return self._join("or", parts, self.false, self.true)

    def _join(
        self, kind: Literal["and", "or"], parts: Sequence[Term], unit: Term, zero: Term
    ) -> Term:
        flat: dict[Term, None] = {}
        for part in parts:
            if part is zero:
                return zero
            if part is not unit:
                flat.update(dict.fromkeys(part.args if part.kind == kind else (part,)))
        if any(part.kind == "not" and part.args[0] in flat for part in flat):
            return zero
        if not flat:
            return unit
        if len(flat) == 1:
            return next(iter(flat))
        return self._make(kind, "bool", tuple(sorted(flat, key=lambda term: term.id)))

    def implies(self, x: Term, y: Term) -> Term:
        return self.or_(self.not_(x), y)

    def _ite_bool(self, condition: Term, x: Term, y: Term) -> Term:
        if x.is_true or x is condition:
            return self.or_(condition, y)
        if x.is_false:
            return self.and_(self.not_(condition), y)
        if y.is_false or y is condition:
            return self.and_(condition, x)
        if y.is_true:
            return self.or_(self.not_(condition), x)
        if condition.kind == "not":
            condition, x, y = condition.args[0], y, x
        return self._make("ite", "bool", (condition, x, y))


def _exact(bound: Number | None) -> Fraction | None:
    return None if bound is None else Fraction(bound)


def _linear_bounds(
    args: tuple[Term, ...], data: Linear, groups: dict[Term, tuple[Term, ...]]
) -> tuple[Fraction | None, Fraction | None]:
    """Bounds of a sum; indicators of one exclusive group count as one choice, not as free bits."""
    lower, upper = Parts(), Parts()
    choices: dict[tuple[Term, ...], dict[Term, Fraction]] = {}
    for factor, term in zip(data.coefficients, args, strict=True):
        if groups and term.kind == "ite" and term.finite and term.args[0] in groups:
            guard, x, y = term.args
            if x.kind == "const" and y.kind == "const":
                lower.append((factor, y.data))
                upper.append((factor, y.data))
                choice = choices.setdefault(groups[guard], {})
                choice[guard] = choice.get(guard, ZERO) + factor * (x.data - y.data)
                continue
        least, most = (lower, upper) if factor > 0 else (upper, lower)
        least.append((factor, term.lower))
        most.append((factor, term.upper))
    for members, choice in choices.items():
        jumps = [*choice.values(), *([ZERO] if len(choice) < len(members) else [])]
        lower.append((ONE, min(jumps)))
        upper.append((ONE, max(jumps)))
    return bounded(lower, data.constant), bounded(upper, data.constant)


def _products(x: Term, y: Term) -> list[Fraction]:
    xs, ys = [x.lower, x.upper], [y.lower, y.upper]
    products = (a * b for a in xs for b in ys)  # type: ignore[operator]  # none is None, if read
    return [] if None in xs + ys else [*products]


def postorder(
    roots: Iterable[Term],
    below: Callable[[Term], Sequence[Term]] = attrgetter("args"),
    known: Container[Term] = (),
) -> Iterator[Term]:
    """Every term below the roots once but the ``known``, its arguments (or ``below``) first."""
    seen: set[Term] = set()
    stack: list[tuple[Term, bool]] = [(root, False) for root in roots]
    while stack:
        term, expanded = stack.pop()
        if expanded:
            yield term
        elif term not in seen and term not in known:
            seen.add(term)
            if not len(seen) % EVERY:
                poll()
            stack.append((term, True))
            stack.extend((arg, False) for arg in below(term) if arg not in seen)


def free_variables(roots: Iterable[Term]) -> list[Term]:
    """Variables below the roots, in order of creation."""
    return sorted((t for t in postorder(roots) if t.kind == "var"), key=lambda term: term.id)


_VALUES: Mapping[Kind, Callable[[Term, list[Any]], Any]] = {
    "const": lambda term, _: term.data,
    "linear": lambda term, args: sum(map(mul, term.data.coefficients, args), term.data.constant),
    "max": lambda _, args: max(args),
    "mul": lambda _, args: args[0] * args[1],
    "ite": lambda _, args: args[1] if args[0] else args[2],
    "le": lambda term, args: args[0] <= term.data,
    "lt": lambda term, args: args[0] < term.data,
    "not": lambda _, args: not args[0],
    "and": lambda _, args: all(args),
    "or": lambda _, args: any(args),
    "apply": lambda _, args: round_to_float32(args[0]),
}


def evaluate_term(root: Term, assignment: dict[str, Any]) -> Any:
    """The exact value of a term: ``Fraction`` or ``bool``; variables read from ``assignment``."""
    values: dict[Term, Any] = {}
    for term in postorder([root]):
        values[term] = _evaluate(term, [values[arg] for arg in term.args], assignment)
    return values[root]


def _evaluate(term: Term, args: list[Any], assignment: dict[str, Any]) -> Any:
    if term.kind == "var":
        value = assignment[term.data]
        return value if term.sort == "bool" else Fraction(value)
    if term.kind == "apply" and term.data != "round_float32":
        raise ValueError(f"'{term.data}' has no exact value")
    return _VALUES[term.kind](term, args)

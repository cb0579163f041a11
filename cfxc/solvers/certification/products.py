"""Products and smooth functions of forms, for programs as certificates hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ...compiler.linear_reader import Form, Units
from ...ir.linear import LinearForm

LARGEST = 400  # terms of a product that is multiplied out, at most
TRUTHS = ("is", "step")  # sources that are 0 or 1
Source = tuple[Any, ...]


@dataclass
class Products(Units):
    """Units, products of two forms, source ``("product", place)``, and smooth functions of one,
    source ``("curve", place)``.
    """

    products: list[tuple[Form, Form]] = field(default_factory=list)
    places: dict[Any, int] = field(default_factory=dict)
    monomials: dict[Source, tuple[Source, ...]] = field(default_factory=dict)
    curves: list[tuple[str, Form]] = field(default_factory=list)

    def product(self, x: Form, y: Form) -> Form:
        """``x * y``: polynomials of numbers multiplied out; else the constants and first factors.

        So equal products are found again, and what cancels between them does.
        """
        if not x.terms or not y.terms:
            return x * y.constant if not y.terms else y * x.constant
        sources = {*x.terms, *y.terms}
        mixed = x.constant * (y - y.constant) + y.constant * x
        if len(x.terms) * len(y.terms) <= LARGEST and all(map(self._is_number, sources)):
            pairs = [
                (a * b, self._times(s, t)) for s, a in x.terms.items() for t, b in y.terms.items()
            ]
            return mixed + LinearForm.sum(pairs)
        (a, u), (b, v) = _scaled(x), _scaled(y)
        one, two = _only(u), _only(v)
        both = self._times(one, two) if one and two else self._of(u, v)
        return mixed + a * b * both

    def curve(self, name: str, x: Form) -> Form:
        """A smooth function of a form, by the checker's name; the same for equal ones."""
        place = self.places.setdefault((name, x.key), len(self.curves))
        if place == len(self.curves):
            self.curves.append((name, x))
        return LinearForm.one(("curve", place))

    def weighted(self, x: Form, name: str) -> Form:
        """``x f(x)``, with x itself as a factor: what splits one splits both."""
        return self._of(x, self.curve(name, x)) if x.terms else self.curve(name, x) * x.constant

    def _is_number(self, source: Source) -> bool:
        return source[0] == "x" or source in self.monomials

    def _times(self, one: Source, two: Source) -> Form:
        """Of two sources: a truth value times itself is itself, and labels of a feature differ."""
        if one == two and one[0] in TRUTHS:
            return LinearForm.one(one)
        if one[0] == two[0] == "is" and one[1] == two[1]:
            return LinearForm({})
        if not (self._is_number(one) and self._is_number(two)):
            return self._of(LinearForm.one(one), LinearForm.one(two))
        factors = sorted(each for s in (one, two) for each in self.monomials.get(s, (s,)))
        made: Form = LinearForm.one(factors[0])
        for n, factor in enumerate(factors[1:], 2):
            made = self._of(made, LinearForm.one(factor))
            self.monomials[_only(made)] = tuple(factors[:n])
        return made

    def _of(self, x: Form, y: Form) -> Form:
        first, second = sorted((x, y), key=lambda form: sorted(map(repr, form.terms)))
        place = self.places.setdefault((first.key, second.key), len(self.products))
        if place == len(self.products):
            self.products.append((first, second))
        return LinearForm.one(("product", place))


def _scaled(form: Form) -> tuple[Fraction, Form]:
    """The factor of a form's first source, and the form divided by it, without its constant."""
    factor = form.terms[min(form.terms, key=repr)]
    return factor, (form - form.constant) / factor


def _only(form: Form) -> Any:
    """The source of a form that has one."""
    return next(iter(form.terms)) if len(form.terms) == 1 else None

"""What a mixed-integer program says of single operations, as columns and rows of affine forms."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from ...ir.linear import ONE, ZERO, LinearForm
from ..mixed_integer import Affine, Model
from ..relaxation import SQUARE, Relaxation
from ..terms import Term

Ends = tuple[Fraction, Fraction]
#: Why rows are there that the relaxation knows of by itself.
MAX, LABEL = "max", "one label"


@dataclass(frozen=True, slots=True)
class Maximum:
    """A column that is ``max(z, 0)`` for z in [low, high]; at least that, unless ``exact``."""

    column: int
    z: Affine
    low: Fraction
    high: Fraction
    exact: bool

    def write(self, model: Model) -> list[int]:
        """Its rows, and its phase if it needs one: a column."""
        h = LinearForm({self.column: ONE})
        above = h - self.z
        model.constrain(above, 0, None, MAX)
        if not self.exact:
            return []
        phase = model.binary(f"phase{self.column}")
        model.constrain(h - self.high * phase, None, 0, MAX)
        model.constrain(above - self.low * phase, None, -self.low, MAX)
        return list(phase.terms)


@dataclass
class Emission:
    """A program in the making, what is known of its columns, and what variables stand for.

    ``variables`` may be given forms of columns before anything is written; the others get a
    column of their own on first use.  ``gaps`` holds, for every maximum of two whose larger side
    is open, their difference and its bounds; ``phases`` are the binaries that choose such a side,
    of ``maxima`` that are written: relaxations do without the rows of the others.  ``shifted``:
    own columns begin at 0, those of narrow ranges in units of these, since solvers take for one
    what differs by less than their tolerance.
    """

    model: Model = field(default_factory=Model)
    variables: dict[Term, Affine] = field(default_factory=dict)
    gaps: dict[Term, tuple[Affine, Ends]] = field(default_factory=dict)
    phases: set[int] = field(default_factory=set)
    maxima: deque[Maximum] = field(default_factory=deque)
    shifted: bool = False

    def __post_init__(self) -> None:
        self.relaxation = Relaxation(self.model)

    def placed(self, name: str, ends: Ends, whole: bool) -> Affine:
        """A number within its ends, in a column of its own."""
        low, high = ends
        if not self.shifted:
            return self.model.column(name, low, high, whole)
        start = Fraction(floor(low)) if whole else low
        unit = ONE if whole else min(high - low, ONE) or ONE
        column = self.model.column(name, (low - start) / unit, (high - start) / unit, whole)
        return unit * column + start

    def complete(self) -> Model:
        """The program, with the rows of all maxima; their phases are its last columns."""
        while self.maxima:
            self.phases.update(self.maxima[0].write(self.model))
            self.maxima.popleft()
        return self.model

    def read(self, values: Sequence[Fraction]) -> dict[str, Fraction | bool]:
        """The pool's variables at a point of the program, by name; Booleans rounded."""
        found: dict[str, Fraction | bool] = {}
        for variable, form in self.variables.items():
            value = form.at(values)
            found[variable.data] = 2 * value > 1 if variable.sort == "bool" else value
        return found


class Rows:
    """Writes operations on forms of columns into an emission."""

    def __init__(self, emission: Emission) -> None:
        self.emission, self.model, self.relaxation = emission, emission.model, emission.relaxation

    def ranges(self, forms: Sequence[Affine]) -> list[Ends]:
        """The tightest bounds known for some forms."""
        if not self.relaxation.units and self.relaxation.budget is None:
            return [(-self.relaxation.most(-f), self.relaxation.most(f)) for f in forms]
        return [(found.lower, found.upper) for found in self.relaxation.bounds(forms)]

    def _positive_part(self, z: Affine, low: Fraction, high: Fraction, exact: bool) -> Affine:
        """``max(z, 0)`` for z in [low, high]; from above only if ``exact``."""
        if low >= 0:
            return z
        if high <= 0:
            return LinearForm({})
        h = self.model.column(f"h{len(self.model.columns)}", 0, high)
        (column,) = h.terms
        self.relaxation.define(column, z, low, high)
        self.emission.maxima.append(Maximum(column, z, low, high, exact))
        return h

    def _selected(self, switch: Affine, first: Affine, second: Affine) -> Affine:
        """``first`` where the switch is 1, ``second`` where it is 0."""
        gap = first - second
        if not gap.terms:
            return second + gap.constant * switch
        ((low, high),) = self.ranges([gap])
        model = self.model
        part = model.column(f"choice{len(model.columns)}", min(low, ZERO), max(high, ZERO))
        model.constrain(part - high * switch, None, 0, "choice")
        model.constrain(part - low * switch, 0, None, "choice")
        rest = part - gap
        model.constrain(rest - low * switch, None, -low, "choice")
        model.constrain(rest - high * switch, -high, None, "choice")
        return second + part

    def _bounded(
        self, name: str, z: Affine, low: Fraction, high: Fraction, least: Fraction, most: Fraction
    ) -> Affine:
        """A curve over z in [low, high], with values in [least, most]: relaxations bound it."""
        form = self.model.column(f"{name}{len(self.model.columns)}", least, most)
        (column,) = form.terms
        self.relaxation.define_curve(column, z, low, high, name)
        return form

    def _square(self, z: Affine) -> Affine:
        if not z.terms:
            return LinearForm.of(z.constant**2)
        low, high = self.ranges([z])[0]
        least = ZERO if low <= 0 <= high else min(low * low, high * high)
        return self._bounded(SQUARE, z, low, high, least, max(low * low, high * high))

    def _at_most(self, x: Affine, y: Affine, why: str) -> None:
        self.model.constrain(x - y, None, 0, why)

    def _joined(self, kind: str, parts: Sequence[Affine], exact: bool) -> Affine:
        """A conjunction or disjunction of truth values."""
        total = LinearForm.sum((1, part) for part in parts)
        if kind == "or" and self._excludes(parts):
            return total
        joined = self.model.column(f"{kind}{len(self.model.columns)}", 0, 1, whole=True)
        if kind == "and":
            for part in parts:
                self._at_most(joined, part, "and")
            if exact:
                self._at_most(total + (1 - len(parts)), joined, "and")
        else:
            self._at_most(joined, total, "or")
            if exact:
                for part in parts:
                    self._at_most(part, joined, "or")
        return joined

    def _excludes(self, parts: Sequence[Affine]) -> bool:
        """Whether the parts are different labels of one category."""
        columns = [j for part in parts for j in part.terms]
        plain = all(list(part.terms.values()) == [ONE] and not part.constant for part in parts)
        if not plain or len(set(columns)) != len(columns):
            return False
        return any(set(columns) <= set(group) for group in self.relaxation.groups)

    def _either(self, switch: Affine, x: Affine, y: Affine, exact: bool) -> Affine:
        """The truth value x where the switch is 1, y where it is 0."""
        chosen = self.model.column(f"ite{len(self.model.columns)}", 0, 1, whole=True)
        self.model.constrain(chosen + switch - x, None, 1, "ite")
        self.model.constrain(chosen - switch - y, None, 0, "ite")
        if exact:
            self.model.constrain(x + switch - chosen, None, 1, "ite")
            self.model.constrain(y - switch - chosen, None, 0, "ite")
        return chosen

    def _implies_most(self, switch: Affine, body: Affine, bound: Fraction, most: Fraction) -> None:
        """``switch = 1`` makes ``body <= bound``, of a body that is at most ``most``."""
        if most > bound:
            self.model.constrain(body + (most - bound) * switch, None, most, "atom")

"""Formulae as mixed-integer linear programs, without indicator constraints.

Every assignment that satisfies the assertions extends to a solution of the program, and every
solution satisfies their closure (``<`` has no row: it becomes ``<=``).  So optima bound from below,
and points read off a solution must be checked.

* ``max(x, y)`` is ``y + h`` with ``h = max(x - y, 0)``: dropped where the sign of x - y is known,
  without a binary where only its being small helps (``polarity``), else with one, and its rows
  with the tightest bounds at hand (``relaxation``).
* Nests of ``ite`` with constant leaves (trees) are unit flows from the root to one leaf; what goes
  left below all tests of one condition is at most its binary (Parmentier and Vidal, 2021).
* Exactly one guard of a category is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...errors import UnsupportedError
from ...ir import Op, Program, ops
from ...ir.linear import LinearForm
from ...ir.ops.smooth import smooth_kinds
from ...stopping import poll
from ..mixed_integer import Affine
from ..relaxation import SQUARE
from ..rewriting import two_sided
from ..terms import Kind, Pool, Term, postorder
from .rows import LABEL, Emission, Ends, Rows

_SMOOTH = "is smooth, and has no exact piecewise-linear form"
#: Ops that no mixed-integer program of ours takes, and why; all others have scalar rules.
REFUSALS: Mapping[type[Op], str] = {
    **dict.fromkeys(smooth_kinds().values(), _SMOOTH),
    ops.Softmax: _SMOOTH,
}
#: Terms that have no encoding, and why.
_PRODUCT = "a product of two numbers that both vary is not linear"


def refused(program: Program, curves: Sequence[str] = ()) -> list[str]:
    """The ops of a program that have no encoding but ``curves``, with where they are from and why.

    ``curves``: names of smooth functions, as of :attr:`Emitter.curves`.
    """
    return [
        f"{let.origin or let.name}: '{let.op.name}' {REFUSALS[type(let.op)]}"
        for let in program.lets()
        if type(let.op) in REFUSALS and let.op.name not in curves
    ]


class Emitter(Rows):
    """Writes the terms of a pool into an emission.

    ``numbers`` is its table of rules, kind of term → form of columns; ``curves`` names the smooth
    functions that become columns with no rows, for who bounds them by their relaxation.
    ``known`` are bounds of :attr:`Emission.gaps`, by maximum, that hold wherever the assertions do.
    """

    numbers: Mapping[Kind, Callable[[Any, Term], Affine]]
    curves: Sequence[str] = ()

    def __init__(
        self, pool: Pool, emission: Emission, known: Mapping[Term, Ends] | None = None
    ) -> None:
        super().__init__(emission)
        self.pool, self.known = pool, known or {}
        self._both: set[Term] = set()
        self._grouped: dict[Term, tuple[Term, ...]] = {}
        self._numbers: dict[Term, Affine] = {}
        self._exact: dict[Term, Affine] = {}
        self._implying: dict[Term, Affine] = {}
        self._declare_groups()

    def _declare_groups(self) -> None:
        for group in self.pool.groups:
            self._grouped.update(dict.fromkeys(group, group))
            forms = [self.variable(guard) for guard in group]
            self.relaxation.group(j for form in forms for j in form.terms)
            self.model.constrain(LinearForm.sum((1, form) for form in forms), 1, 1, LABEL)

    # -- entry points -----------------------------------------------------------------------------

    def orient(self, formulas: Iterable[Term]) -> None:
        """Learn which maxima have to be exact, from all that will be required or minimised.

        Where only its being small helps to satisfy the formulas, a maximum gets no upper rows.
        """
        for formula in formulas:
            self._both |= two_sided(formula)

    def prepare(self, facts: Sequence[Term]) -> None:
        """Encode the numbers of some facts, layer by layer, so that bounds come in batches."""
        depth: dict[Term, int] = {}
        layers: dict[int, list[Term]] = {}
        for term in postorder(facts):
            below = max((depth[arg] for arg in term.args), default=0)
            bent = term.kind == "max" or (term.kind == "apply" and term.data in self.curves)
            depth[term] = below + bent
            if bent:
                layers.setdefault(depth[term], []).append(term)
        for level in sorted(layers):
            self._layer(layers[level])

    def require(self, fact: Term, why: str = "") -> None:
        """Rows for a Boolean term that must hold."""
        stack = [fact]
        while stack:
            term = stack.pop()
            body = term.args[0] if term.kind == "not" else term
            positive = body is term
            if body.kind == ("and" if positive else "or"):
                stack += body.args if positive else map(self.pool.not_, body.args)
            elif term.is_false:
                self.model.refuted = True
            elif body.kind in ("le", "lt"):
                self._atom(body, positive, why)
            elif body.kind == "ite":
                self._require_choice(body, positive, why)
            elif body.kind in ("or", "and"):
                parts = body.args if positive else tuple(map(self.pool.not_, body.args))
                self._clause(parts, why)
            elif not term.is_true:
                self.model.constrain(self.implying(term), 1, None, why)

    # -- numbers ----------------------------------------------------------------------------------

    def number(self, term: Term) -> Affine:
        """A numeric term as an affine form of columns."""
        for part in postorder([term], _numeric_parts, self._numbers):
            poll()
            self._numbers[part] = self.numbers[part.kind](self, part)
        return self._numbers[term]

    def variable(self, term: Term) -> Affine:
        """The form of a variable; its own column unless it was given another."""
        found = self.emission.variables.get(term)
        if found is None:
            if term.sort == "bool":
                found = self.model.binary(term.data)
            else:
                found = self.emission.placed(term.data, _range(term), term.sort == "int")
            self.emission.variables[term] = found
        return found

    def _constant(self, term: Term) -> Affine:
        return LinearForm.of(term.data)

    def _linear(self, term: Term) -> Affine:
        pairs = zip(term.data.coefficients, term.args, strict=True)
        return LinearForm.sum(((c, self._numbers[arg]) for c, arg in pairs), term.data.constant)

    def _layer(self, terms: Sequence[Term]) -> None:
        """Encode units that do not depend on each other, with bounds found together."""
        units = [term for term in terms if len(term.args) <= 2 and term not in self._numbers]
        sides = [[self.number(arg) for arg in _ordered(term)] for term in units]
        gaps = [x - y[0] if y else x for x, *y in sides]
        ranges = self.ranges(gaps)
        for term, (_, *rest), gap, (low, high) in zip(units, sides, gaps, ranges, strict=True):
            if term.kind == "apply":
                self._numbers[term] = self._curve(term, gap, low, high)
                continue
            if term in self.known:
                low, high = max(low, self.known[term][0]), min(high, self.known[term][1])
            if low < 0 < high:
                self.emission.gaps[term] = gap, (low, high)
            positive = self._positive_part(gap, low, high, term in self._both)
            self._numbers[term] = rest[0] + positive

    def _max(self, term: Term) -> Affine:
        first, *others = (self._numbers[arg] for arg in _ordered(term))
        for other in others:
            gap = other - first
            ((low, high),) = self.ranges([gap])
            first = first + self._positive_part(gap, low, high, term in self._both)
        return first

    def _choice(self, term: Term) -> Affine:
        condition, x, y = term.args
        if term.finite:
            return self._flow(term)
        return self._selected(self.exact(condition), self._numbers[x], self._numbers[y])

    def _flow(self, root: Term) -> Affine:
        """A nest of choices with constant leaves, as a unit flow to one of them."""
        if root.kind == "const":
            return LinearForm.of(root.data)
        if (found := self._by_label(root)) is not None:
            return found
        flow: dict[Term, Affine] = {root: LinearForm.of(1)}
        above: dict[Term, frozenset[Term]] = {root: frozenset()}
        sides: dict[Term, tuple[list[Affine], list[Affine]]] = {}
        leaves: list[tuple[Fraction, Affine]] = []
        for node in _topological(root):
            if node.kind == "const":
                leaves.append((node.data, flow[node]))
                continue
            condition, x, y = node.args
            left, right = self._fork(flow[node], condition if node is root else None)
            path = above[node] | {condition}
            for child, part in ((x, left), (y, right)):
                flow[child] = flow[child] + part if child in flow else part
                above[child] = above.get(child, path) | path
            if condition in above[node]:  # counted on this path already: a row of its own
                self._directed(condition, [left], [right])
            else:
                lefts, rights = sides.setdefault(condition, ([], []))
                lefts.append(left)
                rights.append(right)
        for condition, (lefts, rights) in sides.items():
            self._directed(condition, lefts, rights)
        return LinearForm.sum(leaves)

    def _by_label(self, root: Term) -> Affine | None:
        """A nest that only asks for labels of one category: a value per label."""
        tests = {node.args[0] for node in _topological(root) if node.kind == "ite"}
        guards = [guard for test in tests for guard in (test.args or (test,))]
        group = self._grouped.get(guards[0], ())
        if not set(guards) <= set(group) or any(test.kind not in ("var", "or") for test in tests):
            return None
        parts = []
        for guard in group:
            node = root
            while node.kind == "ite":
                test, x, y = node.args
                node = x if guard is test or guard in test.args else y
            parts.append((node.data, self.variable(guard)))
        return LinearForm.sum(parts)

    def _fork(self, flow: Affine, condition: Term | None) -> tuple[Affine, Affine]:
        """What goes left and right; at the root all of it, by the condition."""
        if condition is not None:
            left = self.exact(condition)
        else:
            left = self.model.column(f"flow{len(self.model.columns)}", 0, 1)
        right = flow - left
        self.model.constrain(right, 0, None, "flow")
        return left, right

    def _directed(self, condition: Term, lefts: Sequence[Affine], rights: Sequence[Affine]) -> None:
        """Flows of which one path passes at most one go where the condition sends them."""
        switch = self.exact(condition)
        self._at_most(LinearForm.sum((1, part) for part in lefts), switch, "tree")
        complement = 1 - switch
        self._at_most(LinearForm.sum((1, part) for part in rights), complement, "tree")

    def _applied(self, term: Term) -> Affine:
        """A rounding: its argument, but for half an ulp; or a smooth function."""
        (x,) = term.args
        if term.data in self.curves:
            z = self._numbers[x]
            return self._curve(term, z, *self.ranges([z])[0])
        if term.data != "round_float32":
            raise UnsupportedError(f"'{term.data}' {_SMOOTH}")
        low, high = _range(x)
        half_ulp = max(max(abs(low), abs(high)) / 2**24, Fraction(1, 2**150))
        error = self.model.column(f"rounding{len(self.model.columns)}", -half_ulp, half_ulp)
        return self._numbers[x] + error

    def _curve(self, term: Term, z: Affine, low: Fraction, high: Fraction) -> Affine:
        """A smooth function of z in [low, high]: a column that only relaxations bound."""
        return self._bounded(term.data, z, low, high, *_range(term))

    def _product(self, term: Term) -> Affine:
        """``x y = ((x + y) / 2)² - ((x - y) / 2)²``, where squares have lines around them."""
        if SQUARE not in self.curves:
            raise UnsupportedError(_PRODUCT)
        x, y = (self._numbers[arg] for arg in term.args)
        half = Fraction(1, 2)
        return self._square(half * (x + y)) - self._square(half * (x - y))

    # -- truth values -----------------------------------------------------------------------------

    def exact(self, term: Term) -> Affine:
        """A form that is 1 where a Boolean term holds, else 0 (on the common border: either)."""
        if term not in self._exact:
            self._exact[term] = self._truth(term, exact=True)
        return self._exact[term]

    def implying(self, term: Term) -> Affine:
        """A form with values 0 and 1, such that 1 makes the Boolean term hold."""
        if term in self._exact:
            return self._exact[term]
        if term not in self._implying:
            self._implying[term] = self._truth(term, exact=False)
        return self._implying[term]

    def _truth(self, term: Term, exact: bool) -> Affine:
        if term.kind == "const":
            return LinearForm.of(int(term.data))
        if term.kind == "var":
            return self.variable(term)
        if term.kind == "not" and (exact or term.args[0].kind == "var"):
            return 1 - self.exact(term.args[0])
        of = self.exact if exact else self.implying
        parts, kind = term.args, _kind(term)
        if kind == "not":  # towards the leaves, so that one direction stays enough
            inner = parts[0]
            if inner.kind in ("le", "lt"):
                return self._switch(inner, positive=False, exact=False)
            kind = _DUAL[inner.kind]
            parts = tuple(
                part if inner.kind == "ite" and i == 0 else self.pool.not_(part)
                for i, part in enumerate(inner.args)
            )
        if kind in ("le", "lt"):
            return self._switch(term, positive=True, exact=exact)
        if kind == "ite":
            return self._either(self.exact(parts[0]), of(parts[1]), of(parts[2]), exact)
        return self._joined(kind, [of(part) for part in parts], exact)

    def _switch(self, atom: Term, positive: bool, exact: bool) -> Affine:
        """A binary that makes an atom hold (fail, unless ``positive``), and 0 its opposite."""
        body = self.number(atom.args[0])
        ((low, high),) = self.ranges([body])
        bound, beyond = _ends(atom)
        switch = self.model.binary(f"atom{len(self.model.columns)}")
        if positive or exact:  # body <= high - (high - bound) * switch
            holds = switch if positive else 1 - switch
            self._implies_most(holds, body, bound, high)
        if not positive or exact:
            fails = 1 - switch if positive else switch
            self._implies_most(fails, -body, -beyond, -low)
        return switch

    # -- facts ------------------------------------------------------------------------------------

    def _atom(self, atom: Term, positive: bool, why: str) -> None:
        body = self.number(atom.args[0])
        bound, beyond = _ends(atom)
        ((low, high),) = self.ranges([body])
        if (low > bound) if positive else (high < beyond):
            self.model.refuted = True
        if positive:
            self.model.constrain(body, None, bound, why)
        else:
            self.model.constrain(body, beyond, None, why)

    def _clause(self, parts: Sequence[Term], why: str) -> None:
        if not self._is_known(parts):
            forms = [self.implying(part) for part in parts]
            self.model.constrain(LinearForm.sum((1, form) for form in forms), 1, None, why)

    def _is_known(self, parts: Sequence[Term]) -> bool:
        """Whether a clause says of a category that one label holds, or not two."""
        guards = [part.args[0] if part.kind == "not" else part for part in parts]
        group = self._grouped.get(guards[0], ())
        if not set(guards) <= set(group):
            return False
        negative = [part for part in parts if part.kind == "not"]
        return len(negative) > 1 or (not negative and len(guards) == len(group))

    def _require_choice(self, choice: Term, positive: bool, why: str) -> None:
        condition, x, y = choice.args
        if not positive:
            x, y = self.pool.not_(x), self.pool.not_(y)
        switch = self.exact(condition)
        self._at_most(switch, self.implying(x), why)
        self._at_most(1 - switch, self.implying(y), why)


NUMBERS: Mapping[Kind, Callable[[Any, Term], Affine]] = {
    "const": Emitter._constant,
    "var": Emitter.variable,
    "linear": Emitter._linear,
    "max": Emitter._max,
    "ite": Emitter._choice,
    "apply": Emitter._applied,
    "mul": Emitter._product,
}
Emitter.numbers = NUMBERS


_DUAL: Mapping[Kind, Kind] = {"and": "or", "or": "and", "ite": "ite"}


def _kind(term: Term) -> Kind:
    return term.kind


def _ordered(term: Term) -> tuple[Term, ...]:
    """The arguments of a maximum of two with a constant last."""
    if len(term.args) == 2 and term.args[0].kind == "const":
        return term.args[::-1]
    return term.args


def _ends(atom: Term) -> Ends:
    """``body <= first`` if the atom holds, ``body >= second`` if not; strictness is lost."""
    bound: Fraction = atom.data
    return bound, bound + 1 if atom.args[0].sort == "int" else bound


def _range(term: Term) -> Ends:
    if term.lower is None or term.upper is None:
        raise UnsupportedError("a number without bounds", remedy="give every feature a range")
    return term.lower, term.upper


def _numeric_parts(term: Term) -> tuple[Term, ...]:
    """The numbers that a number is made of; a nest of choices between constants is one."""
    return () if term.finite else term.args[1:] if term.kind == "ite" else term.args


def _branches(term: Term) -> tuple[Term, ...]:
    return term.args[1:] if term.kind == "ite" else ()


def _topological(root: Term) -> list[Term]:
    """The nodes of a nest of choices, each after all that lead to it."""
    return list(postorder([root], _branches))[::-1]


def emit(pool: Pool, assertions: Sequence[Term], objective: Term | None = None) -> Emission:
    """The assertions as a program, minimising a numeric term if there is one.

    Raises:
        UnsupportedError: a smooth function, a product, or a number without bounds.
    """
    emitter = Emitter(pool, Emission())
    goal = [] if objective is None else [least(pool, objective)]
    emitter.orient([*assertions, *goal])
    emitter.prepare([*assertions, *goal])
    if objective is not None:
        emitter.model.objective = emitter.number(objective)
    for fact in assertions:
        emitter.require(fact)
    emitter.emission.complete()
    return emitter.emission


def least(pool: Pool, objective: Term) -> Term:
    """A formula that asks a number to be small, for :meth:`Emitter.orient`."""
    return pool.le(objective, pool.fresh("objective", "real"))

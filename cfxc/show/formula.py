"""Characteristic formulae as they are written by hand: infix, one conjunct per line (Figures 2c and
3c).

What the shared terms of the pool spell out is said the short way: two opposite inequalities are an
equation, solved for the variable that is assigned; a category is ``sector = "it"`` and its guards
are ``sector ∈ {…}``; formulae used more than once are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..compiler.functional import Symbolic
from ..compiler.terms import Pool, Term, postorder
from ..compiler.transform import Characteristic, declare, well_sorted
from ..ir import Label, LabelTuple, Program, Sort
from ..ir.sorts import exact_float, format_label, format_name
from .layout import Break, Child, Node, Piece, Text, lay_out, name_shared

_IFF, _OR, _AND, _ATOM, _SUM, _PRODUCT, _TIGHT = range(7)
_SHARED_WIDTH = 40  # a formula used twice is named from this width on
_WIDEST_DECIMAL = 16  # whole numbers with more digits are written as doubles
_SETS = {"bool": "{true, false}", "int": "ℤ", "real": "ℝ"}


def emit_formula(
    program: Program, characteristic: Characteristic, pool: Pool, comments: Sequence[str] = ()
) -> str:
    """The formula as text; ``program`` is the core-level program that it was made from.

    A decimal number means the double it denotes; all other numbers are whole or quotients.
    """
    scope = _Scope.of(program, characteristic, pool)
    root = _Writer(scope).conjuncts(characteristic.formula)
    named = name_shared(root, _SHARED_WIDTH, "φ")
    lines = [f"# {line}" for line in comments]
    lines += [f"{node.name} := {lay_out(node, len(node.name) + 4)}" for node in named]
    body = [*scope.declarations]
    body += [lay_out(part, 2) for part in root.pieces if isinstance(part, Child)]
    lines += [("∧ " if i else "  ") + text for i, text in enumerate(body)]
    return "\n".join(lines) + "\n"


Guards = Mapping[Term, tuple[str, str, Symbolic]]


@dataclass(frozen=True)
class _Scope:
    """What the pool's variables are called, and what is known of categories by notation.

    Attributes:
        guards: Guard → (name of its category, its label as text, all guards of the category).
        given: The guards of inputs.
        known: Conjuncts that say that a category has exactly one label.
        declarations: ``age ∈ ℤ``, ``sector ∈ {…}``, … for inputs and outputs.
    """

    guards: Guards
    given: frozenset[Term]
    known: frozenset[Term]
    declarations: tuple[str, ...]

    @classmethod
    def of(cls, program: Program, characteristic: Characteristic, pool: Pool) -> _Scope:
        inputs = characteristic.inputs
        results = {f"y.{name}": value for name, value in characteristic.outputs.items()}
        guards = _guards([*inputs.items(), *_categories(program, pool), *results.items()], pool)
        free = [*inputs.values(), *results.values()]
        sorts = [*dict(program.inputs).values(), *program.output_sorts.values()]
        facts = [well_sorted(pool, value) for value in free]
        parts = (fact.args if fact.kind == "and" else (fact,) for fact in facts)
        symbols = [value for value in inputs.values() if isinstance(value, Symbolic)]
        return cls(
            guards,
            given=frozenset(guard for value in symbols for guard in value.guards),
            known=frozenset(part for several in parts for part in several),
            declarations=tuple(
                f"{_called(value, guards)} ∈ {_set(sort)}"
                for value, sort in zip(free, sorts, strict=True)
            ),
        )


def _guards(variables: Sequence[tuple[str, Any]], pool: Pool) -> Guards:
    """What the guards of the categories among the variables say; names stay unique, as in pools."""
    guards: dict[Term, tuple[str, str, Symbolic]] = {}
    taken = set(pool.variables)
    for name, value in variables:
        if isinstance(value, Symbolic):
            while name in taken:
                name += "'"
            taken.add(name)
            for guard, label in zip(value.guards, value.labels, strict=True):
                guards[guard] = (format_name(name), label_text(label), value)
    return guards


def _called(value: Any, guards: Guards) -> str:
    """What a declared variable is called in the text."""
    return guards[value.guards[0]][0] if isinstance(value, Symbolic) else format_name(value.data)


def _categories(program: Program, pool: Pool) -> list[tuple[str, Any]]:
    """The variables of category sort that the program assigns."""
    return [
        (name, declare(pool, name, sort))
        for name, sort in program.sorts.items()
        if sort.kind == "category" and name not in dict(program.inputs)
    ]


def _set(sort: Sort) -> str:
    if sort.kind == "category":
        return "{" + ", ".join(map(label_text, sort.labels)) + "}"
    return _SETS[sort.kind]


def label_text(label: Label) -> str:
    """A label as it is read: numbers in decimal, text in quotes."""
    return repr(label) if isinstance(label, float) else format_label(label)


def number_text(value: Fraction) -> str:
    """Exact: a whole number, the shortest decimal of the double that it is, or a quotient."""
    if value.denominator == 1 and abs(value) < 10**_WIDEST_DECIMAL:
        return str(value.numerator)
    double = exact_float(value)
    return f"{value.numerator}/{value.denominator}" if double is None else repr(double)


class _Writer:
    """Turns terms into nodes; equal nodes are one object, so that sharing is seen."""

    def __init__(self, scope: _Scope) -> None:
        self.scope = scope
        self.nodes: dict[Term, Node] = {}
        self.made: dict[tuple[Any, ...], Node] = {}

    def conjuncts(self, formula: Term) -> Node:
        """The conjunction at the root, without what the declarations say."""
        parts = formula.args if formula.kind == "and" else (formula,)
        for term in postorder(parts):
            self.nodes[term] = self._node(term)
        nodes = self._conjunction([part for part in parts if part not in self.scope.known])
        return Node(_AND, _separated(nodes, "∧ "))

    # -- nodes ------------------------------------------------------------------------------------

    def _make(self, level: int, *pieces: Piece) -> Node:
        key = (level, *((id(p.node), p.level) if isinstance(p, Child) else p for p in pieces))
        if key not in self.made:
            self.made[key] = Node(level, pieces)
        return self.made[key]

    def _text(self, text: str, level: int = _TIGHT) -> Node:
        return self._make(level, Text(text))

    def _join(self, operator: str, level: int, nodes: Sequence[Node]) -> Node:
        if len(nodes) == 1:
            return nodes[0]
        return self._make(level, *_separated(nodes, f"{operator} "))

    def _node(self, term: Term) -> Node:
        table: dict[str, Callable[[Term], Node]] = {
            "const": self._constant,
            "var": self._variable,
            "linear": lambda t: self._sum(_terms(t), t.data.constant),
            "mul": lambda t: self._make(
                _PRODUCT, Child(self.nodes[t.args[0]], _PRODUCT), Text("·"),
                Child(self.nodes[t.args[1]], _TIGHT),
            ),
            "max": lambda t: self._call("max", t.args),
            "apply": lambda t: self._call(t.data, t.args),
            "ite": self._choice,
            "le": lambda t: self._relation(t, "≤"),
            "lt": lambda t: self._relation(t, "<"),
            "not": self._negation,
            "and": lambda t: self._join("∧", _AND, self._conjunction(t.args)),
            "or": lambda t: self._join("∨", _OR, [self.nodes[arg] for arg in t.args]),
        }  # fmt: skip
        return table[term.kind](term)

    def _constant(self, term: Term) -> Node:
        if term.sort == "bool":
            return self._text("true" if term.data else "false")
        text = number_text(term.data)
        return self._text(text, _SUM if text.startswith("-") else _TIGHT)

    def _variable(self, term: Term, relation: str = "=") -> Node:
        guard = self.scope.guards.get(term)
        if guard is None:
            return self._text(format_name(term.data))
        return self._text(f"{guard[0]} {relation} {guard[1]}", _ATOM)

    def _call(self, function: str, args: Sequence[Term]) -> Node:
        pieces: list[Piece] = [Text(f"{function}(")]
        for i, arg in enumerate(args):
            pieces += [Text(","), Break("", fill=True)] if i else []
            pieces.append(Child(self.nodes[arg], _IFF))
        return self._make(_TIGHT, *pieces, Text(")"))

    def _choice(self, term: Term) -> Node:
        condition, x, y = term.args
        if term.sort == "bool":
            for one, other, negated in ((x, y, False), (y, x, True)):
                if other.kind == "not" and other.args[0] is one:
                    right = self._opposite(one) if negated else self.nodes[one]
                    return self._iff(self.nodes[condition], right)
        parts = [Child(self.nodes[t], _ATOM) for t in (condition, x, y)]
        return self._make(
            _IFF, Text("if "), parts[0], Break("then "), parts[1], Break("else "), parts[2]
        )

    def _iff(self, x: Node, y: Node) -> Node:
        return self._make(_IFF, Child(x, _TIGHT), Break("↔ "), Child(y, _TIGHT))

    def _negation(self, term: Term) -> Node:
        return self._opposite(term.args[0])

    def _opposite(self, inner: Term) -> Node:
        if inner.kind in ("le", "lt"):
            return self._relation(inner, ">" if inner.kind == "le" else "≥")
        if inner in self.scope.guards:
            return self._variable(inner, "≠")
        if inner.kind == "and" and len(inner.args) == 2:
            found = list(_equations(inner.args))
            if found:
                return self._equation(*found[0][1:], "≠")
        return self._make(_TIGHT, Text("¬"), Child(self.nodes[inner], _TIGHT))

    # -- arithmetic -------------------------------------------------------------------------------

    def _relation(self, atom: Term, relation: str) -> Node:
        body = Child(self.nodes[atom.args[0]], _SUM)
        return self._make(_ATOM, body, Text(f" {relation} {number_text(atom.data)}"))

    def _sum(self, terms: Sequence[tuple[Fraction, Term]], constant: Fraction) -> Node:
        pieces: list[Piece] = []
        for factor, term in terms:
            size = abs(factor)
            scale = "" if size == 1 else f"{number_text(size)}·"
            if pieces:
                pieces.append(Break(("- " if factor < 0 else "+ ") + scale, fill=True))
            elif factor < 0 or scale:
                pieces.append(Text(("-" if factor < 0 else "") + scale))
            pieces.append(Child(self.nodes[term], _TIGHT if scale else _PRODUCT))
        if not pieces:
            return self._text(number_text(constant), _SUM)
        if constant:
            sign = "- " if constant < 0 else "+ "
            pieces.append(Break(sign + number_text(abs(constant)), fill=True))
        if len(pieces) == 1 and isinstance(pieces[0], Child):
            return pieces[0].node
        return self._make(_SUM, *pieces)

    def _equation(self, body: Term, bound: Fraction, relation: str = "=") -> Node:
        """``body = bound``, solved for the newest variable: that is the one assigned."""
        terms = _terms(body)
        variables = [i for i, (_, term) in enumerate(terms) if term.kind == "var"]
        if len(terms) == 1 or not variables:
            left = Child(self.nodes[body], _SUM)
            return self._make(_ATOM, left, Text(f" {relation} {number_text(bound)}"))
        factor, variable = terms.pop(max(variables, key=lambda i: terms[i][1].id))
        rest = self._sum([(-c / factor, term) for c, term in terms], bound / factor)
        head = Text(f" {relation} ")
        return self._make(_ATOM, Child(self.nodes[variable], _SUM), head, Child(rest, _SUM))

    # -- conjunctions -----------------------------------------------------------------------------

    def _conjunction(self, parts: Sequence[Term]) -> list[Node]:
        """One node per conjunct; opposite inequalities and equal categories are merged."""
        done: set[Term] = set()
        merged: dict[Term, Node] = {}
        for pair, body, bound in _equations(parts):
            done.update(pair)
            merged[pair[0]] = self._equation(body, bound)
        for group, left, right in self._equal_categories(parts):
            done.update(group)
            merged[group[0]] = self._text(f"{left} = {right}", _ATOM)
        chosen = {guard for part in parts for guard in self._siblings(part)}
        done.update(part for part in parts if part.kind == "not" and part.args[0] in chosen)
        order = [part for part in parts if part in merged or part not in done]
        order.sort(key=lambda part: part in merged or not self._is_condition(part))
        return [merged[part] if part in merged else self.nodes[part] for part in order]

    def _is_condition(self, part: Term) -> bool:
        """Whether a conjunct is a comparison: these are read first, then what follows from them."""
        atom = part.args[0] if part.kind == "not" else part
        if atom in self.scope.guards:
            return part is not atom or atom in self.scope.given
        return atom.kind in ("le", "lt", "var") or (part.kind == "not" and atom.kind == "and")

    def _siblings(self, part: Term) -> Iterator[Term]:
        """The other guards of the category whose label ``part`` states."""
        if part in self.scope.guards:
            yield from (g for g in self.scope.guards[part][2].guards if g is not part)

    def _equal_categories(self, parts: Sequence[Term]) -> Iterator[tuple[list[Term], str, str]]:
        """Conjuncts ``p_i ↔ q_i`` for all labels i: two categories are equal, the newer first."""
        found: dict[tuple[str, str, LabelTuple], list[Term]] = {}
        for part in parts:
            if part.kind != "ite" or part.args[2].kind != "not":
                continue
            q, p, negated = part.args
            if negated.args[0] is not p or not {p, q} <= self.scope.guards.keys():
                continue
            p, q = sorted((p, q), key=lambda guard: guard.id, reverse=True)
            (x, first, one), (y, second, other) = self.scope.guards[p], self.scope.guards[q]
            if first == second and one.labels == other.labels:
                found.setdefault((x, y, one.labels), []).append(part)
        for (x, y, labels), group in found.items():
            if len(group) == len(labels):
                yield group, x, y


def _terms(body: Term) -> list[tuple[Fraction, Term]]:
    if body.kind != "linear":
        return [(Fraction(1), body)]
    return list(zip(body.data.coefficients, body.args, strict=True))


def _equations(parts: Sequence[Term]) -> Iterator[tuple[tuple[Term, Term], Term, Fraction]]:
    """Pairs ``body <= bound``, ``not body < bound`` among the conjuncts; integers round ``<``."""
    negated = {
        (part.args[0].kind, part.args[0].args[0], part.args[0].data): part
        for part in parts
        if part.kind == "not" and part.args[0].kind in ("le", "lt")
    }
    for part in parts:
        if part.kind == "le":
            body, bound = part.args[0], part.data
            below = ("le", body, bound - 1) if body.sort == "int" else ("lt", body, bound)
            if below in negated:
                yield (part, negated[below]), body, bound


def _separated(nodes: Sequence[Node], separator: str) -> list[Piece]:
    """Nodes between breaks; formulae inside formulae stand in parentheses."""
    pieces: list[Piece] = []
    for i, node in enumerate(nodes):
        pieces += [Break(separator)] if i else []
        pieces.append(Child(node, _ATOM))
    return pieces

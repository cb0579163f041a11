"""The sorts of variables, from what is assigned to them.

A numeral is Int or Real by its value and joins Real; a label literal belongs to whatever category
it meets.  Variables, inputs and choices between them that hold labels form groups; a group with an
input is that input's category, another one the category of the literals assigned in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias

from ..ir import BOOL, INT, REAL, LabelTuple, Sort
from .ast import RELATIONS, Assign, Binary, Call, Command, Expr, If, Literals, Member, Name, Unary
from .values import Constant, constant_of, has_label, new_label, number_table
from .walk import fold, subcommands

#: Rounds over the program; each makes sorts grow (Int to Real, groups merge), two are usual.  Too
#: few cannot do harm: what is lowered is checked against the sorts found here.
MAX_ROUNDS: Final = 100


@dataclass(slots=True, eq=False)
class Group:
    """Values of one category: union-find with the literals assigned and the declared sort."""

    sort: Sort | None = None
    literals: dict[tuple[str, Constant], Constant] = field(default_factory=dict)
    parent: Group | None = None

    def root(self) -> Group:
        group = self
        while group.parent is not None:
            if group.parent.parent is not None:
                group.parent = group.parent.parent
            group = group.parent
        return group


@dataclass(frozen=True, slots=True)
class Loose:
    """Literals that have met nothing yet, as in ``ite(b, 1, none)``, and variables that hold them.

    If they meet a label, all of ``sources`` turn out to be categories.
    """

    constants: tuple[Constant, ...]
    sources: tuple[str, ...] = ()

    @property
    def is_symbolic(self) -> bool:
        return any(each is None or isinstance(each, str) for each in self.constants)

    def scalar(self) -> Sort:
        if all(isinstance(each, bool) for each in self.constants):
            return BOOL
        numbers = [each for each in self.constants if isinstance(each, Fraction)]
        return REAL if any(each.denominator > 1 for each in numbers) else INT

    def with_more(self, other: Loose) -> Loose:
        new = tuple(each for each in other.constants if not self._has(each))
        sources = dict.fromkeys(self.sources + other.sources)
        return Loose(self.constants + new, tuple(sources))

    def _has(self, constant: Constant) -> bool:
        return any(type(each) is type(constant) and each == constant for each in self.constants)


Guess: TypeAlias = Sort | Group | Loose


def infer_sorts(
    body: Command, inputs: Mapping[str, Sort], spelling: Mapping[str, tuple[str, ...]]
) -> dict[str, Sort]:
    """Return the sort of every variable of a ``body`` in single assignment, and of the inputs.

    Names of one ``spelling`` are values of one variable of the program: if they are categories,
    they are of one category.

    Nothing is refused here: where uses contradict each other the sort is that of one of them.
    """
    inference = _Inference(inputs, spelling)
    commands = list(subcommands(body))
    for _ in range(MAX_ROUNDS):
        inference.changed = False
        for command in commands:
            if isinstance(command, Assign):
                inference.assign(command.target, inference.guess(command.value))
            elif isinstance(command, If):
                inference.guess(command.guard)
        if not inference.changed:
            break
    return {name: _settled(guess) for name, guess in inference.guesses.items()}


def _settled(guess: Guess) -> Sort:
    if isinstance(guess, Loose):
        return guess.scalar()
    if isinstance(guess, Sort):
        return guess
    group = guess.root()
    if group.sort is not None:
        return group.sort
    return Sort("category", (), LabelTuple(map(new_label, group.literals.values())))


class _Inference:
    """``guesses`` are the sorts so far; ``changed`` whether this round learnt anything."""

    def __init__(self, inputs: Mapping[str, Sort], spelling: Mapping[str, tuple[str, ...]]) -> None:
        self.changed = False
        self.spelling = spelling
        self.variables: dict[tuple[str, ...], Group] = {}
        self.guesses: dict[str, Guess] = {
            name: Group(sort) if sort.kind == "category" else sort for name, sort in inputs.items()
        }

    def assign(self, name: str, guess: Guess) -> None:
        old = self.guesses.get(name)
        new = guess if old is None else self._join(old, guess)
        if isinstance(new, Loose) and new.is_symbolic:
            new = self._add(Group(), new)
        if isinstance(new, Group) and name in self.spelling:
            new = self._unite(new, self.variables.setdefault(self.spelling[name], new))
        if old != new:
            self.changed = True
            self.guesses[name] = new

    def guess(self, expression: Expr) -> Guess:
        return fold(expression, self._combine)

    def _combine(self, node: Expr, operands: tuple[Guess, ...]) -> Guess:
        if isinstance(node, Literals):
            return Loose((constant_of(node),))
        if isinstance(node, Name):
            guess = self.guesses.get(node.root, REAL)
            return Loose(guess.constants, (node.root,)) if isinstance(guess, Loose) else guess
        if isinstance(node, Member):
            return BOOL
        if isinstance(node, Unary):
            return BOOL if node.operator == "!" else _number(operands)
        if isinstance(node, Call):
            return self._call(node, operands)
        assert isinstance(node, Binary)
        if node.operator in ("+", "-", "*"):
            return _number(operands)
        left, right = operands
        if node.operator in RELATIONS and isinstance(left, Group) and isinstance(right, Group):
            self._unite(left, right)
        return REAL if node.operator == "/" else BOOL

    def _call(self, node: Call, operands: tuple[Guess, ...]) -> Guess:
        if node.function == "ite":
            return self._join(operands[1], operands[2])
        return _number(operands) if node.function in ("abs", "max", "min", "relu") else REAL

    # -- joins -------------------------------------------------------------------------------------

    def _join(self, first: Guess, second: Guess) -> Guess:
        if isinstance(first, Loose) and isinstance(second, Loose):
            return first.with_more(second)
        if isinstance(first, Group) and isinstance(second, Group):
            sorts = [group.root().sort for group in (first, second)]
            if sorts[0] != sorts[1] and all(sort and number_table(sort.labels) for sort in sorts):
                return _number((first, second))
            return self._unite(first, second)
        for group, other in ((first, second), (second, first)):
            if isinstance(group, Group):
                if _is_number(_settled(group), other):
                    return _number((group, other))
                return self._add(group, other) if isinstance(other, Loose) else group
        one, another = _settled(first), _settled(second)
        return REAL if {one, another} == {INT, REAL} else one

    def _unite(self, first: Group, second: Group) -> Group:
        one, other = first.root(), second.root()
        different = one.sort and other.sort and one.sort != other.sort
        if one is not other and not different:
            self.changed = True
            other.parent = one
            one.sort = one.sort or other.sort
            one.literals = {**one.literals, **other.literals}
        return one

    def _add(self, group: Group, loose: Loose) -> Group:
        """Put the literals into the group, and the variables that hold them."""
        root = group.root()
        for constant in loose.constants:
            key = (type(constant).__name__, constant)
            if key not in root.literals:
                root.literals[key] = constant
                self.changed = True
        sources = list(loose.sources)
        while sources:
            source = sources.pop()
            held = self.guesses[source]
            if isinstance(held, Loose):
                self.guesses[source] = root
                self.changed = True
                sources += held.sources
        return root


def _is_number(sort: Sort, other: Guess) -> bool:
    """Whether a category and ``other`` have in common that they are numbers, and no more."""
    if number_table(sort.labels) is None:
        return False
    if isinstance(other, Loose):
        return not other.is_symbolic and not all(has_label(c, sort.labels) for c in other.constants)
    return isinstance(other, Sort) and other.is_numeric


def _number(operands: tuple[Guess, ...]) -> Sort:
    """Return the sort of a sum, product, … of the operands; labels may count as numbers."""
    return REAL if any(_is_real(guess) for guess in operands) else INT


def _is_real(guess: Guess) -> bool:
    sort = _settled(guess)
    return sort == REAL or any(isinstance(label, float) for label in sort.labels)

"""Weak single assignment: every variable is assigned once on every path (Karimi et al., app. A)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .ast import Assign, Command, Expr, If, Index, Name, Return, Sequence, sequence
from .walk import expressions, names, rewrite, run, subcommands

#: The name of the only output of a program whose returns are unnamed.
RESULT = "result"

Reader = Callable[[Name | Index], Expr]


@dataclass(frozen=True, slots=True, order=True)
class _Output:
    """The variable that a return assigns."""

    name: str


Variable: TypeAlias = str | _Output


@dataclass(frozen=True, slots=True)
class SingleAssignment:
    """A body without returns.

    Attributes:
        body: Assignments and ifs.
        outputs: The variable that holds each output.
        assignments: How often each variable is assigned in the text.
        spelling: What the program calls each variable.
    """

    body: Command
    outputs: Mapping[str, str]
    assignments: Mapping[str, int]
    spelling: Mapping[str, tuple[str, ...]]


def single_assignment(body: Command, taken: Iterable[str], read: Reader) -> SingleAssignment:
    """Return the loop-free, well-formed ``body`` in weak single assignment.

    A variable x becomes x, x.1, x.2, …: its last assignments in the two branches of an ``if`` get
    the same name; a branch that leaves a variable alone copies the old value, unless nothing reads
    it afterwards.  A return assigns the outputs.

    Args:
        body: The commands.
        taken: Names that variables may not get (the inputs).
        read: What a name that is no variable stands for.
    """
    liveness = _Liveness()
    outputs = next((c.names for c in subcommands(body) if isinstance(c, Return)), ())
    run(liveness.command(body, set(map(_output, outputs))))
    renamer = _Renamer(liveness, set(taken), read)
    commands = run(renamer.command(body, {}))
    held = {each.name: renamer.names[each] for each in map(_output, outputs)}
    return SingleAssignment(sequence(commands), held, renamer.assignments, renamer.spelling)


def _output(name: str | None) -> _Output:
    return _Output(RESULT if name is None else name)


def _targets(command: Command) -> list[Variable]:
    if isinstance(command, Assign):
        return [command.target]
    if isinstance(command, Return):
        return [_output(name) for name in command.names]
    return []


Flow: TypeAlias = tuple[set[Variable], set[Variable]]


@dataclass(slots=True)
class _Liveness:
    """Backwards over the commands: which variables an ``if`` assigns, and which are read later."""

    assigned: dict[int, set[Variable]] = field(default_factory=dict)
    joined: dict[int, set[Variable]] = field(default_factory=dict)

    def command(self, command: Command, live: set[Variable]) -> Generator[Any, Any, Flow]:
        """Return the variables live before ``command`` and those it assigns."""
        assigned: set[Variable] = set()
        if isinstance(command, Sequence):
            for each in reversed(command.commands):
                live, more = yield self.command(each, live)
                assigned |= more
            return live, assigned
        if isinstance(command, If):
            then, first = yield self.command(command.then, set(live))
            otherwise, second = yield self.command(command.otherwise, set(live))
            assigned = first | second
            self.joined.setdefault(id(command), set()).update(live & assigned)
            self.assigned[id(command)] = assigned
            live = then | otherwise
        else:
            assigned = set(_targets(command))
            live -= assigned
        live |= {name.root for each in expressions(command) for name in names(each)}
        return live, assigned

    def assigned_by(self, command: Command) -> Iterable[Variable]:
        """Return the variables that a command (no sequence) assigns on some path."""
        return self.assigned[id(command)] if isinstance(command, If) else _targets(command)


@dataclass(slots=True)
class _Renamer:
    """``names`` maps each variable to its present name; ``final`` the last names of a branch."""

    liveness: _Liveness
    taken: set[str]
    read: Reader
    names: dict[Variable, str] = field(default_factory=dict)
    trail: list[tuple[Variable, str | None]] = field(default_factory=list)
    assignments: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    spelling: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def fresh(self, variable: Variable) -> str:
        """Return x, x.1, x.2, … for the next value of x, avoiding names that are taken."""
        base = variable.name if isinstance(variable, _Output) else variable
        spelling = (base,)
        base = f"_{base}" if base.startswith("%") else base  # "%" marks temporaries
        while True:
            count = self.counts.get(base, 0)
            self.counts[base] = count + 1
            name = f"{base}.{count}" if count else base
            if name not in self.taken:
                self.taken.add(name)
                self.spelling[name] = spelling
                return name

    def command(
        self, command: Command, final: Mapping[Variable, str]
    ) -> Generator[Any, Any, list[Command]]:
        if isinstance(command, If):
            renamed: list[Command] = yield self._conditional(command, final)
            return renamed
        if isinstance(command, Assign):
            value = self._expression(command.value)
            return [self._assign(command, command.target, value, final)]
        if isinstance(command, Return):
            values = [self._expression(output.value) for output in command.outputs]
            pairs = zip(_targets(command), values, strict=True)
            return [self._assign(command, target, value, final) for target, value in pairs]
        if not isinstance(command, Sequence):
            return []
        commands: list[Command] = []
        for each, last in zip(command.commands, self._last(command, final), strict=True):
            commands += yield self.command(each, last)
        return commands

    def _last(self, command: Sequence, final: Mapping[Variable, str]) -> list[dict[Variable, str]]:
        """Give every final name to the last command of the sequence that assigns the variable."""
        shares: list[dict[Variable, str]] = [{} for _ in command.commands]
        left = dict(final)
        for share, each in zip(reversed(shares), reversed(command.commands), strict=True):
            if not left:
                break
            for variable in self.liveness.assigned_by(each):
                if variable in left:
                    share[variable] = left.pop(variable)
        return shares

    def _assign(
        self, near: Command, variable: Variable, value: Expr, final: Mapping[Variable, str]
    ) -> Assign:
        name = final[variable] if variable in final else self.fresh(variable)
        self._name(variable, name)
        self.assignments[name] = self.assignments.get(name, 0) + 1
        return Assign(name, value, **near.place)

    def _conditional(
        self, command: If, final: Mapping[Variable, str]
    ) -> Generator[Any, Any, list[Command]]:
        guard = self._expression(command.guard)
        joined = sorted(self.liveness.joined[id(command)], key=str)
        names_after = {each: final[each] if each in final else self.fresh(each) for each in joined}
        then = yield self._branch(command, command.then, names_after)
        otherwise = yield self._branch(command, command.otherwise, names_after)
        for variable, name in names_after.items():
            self._name(variable, name)
        return [If(guard, sequence(then), sequence(otherwise), **command.place)]

    def _branch(
        self, near: If, branch: Command, names_after: Mapping[Variable, str]
    ) -> Generator[Any, Any, list[Command]]:
        mark = len(self.trail)
        commands: list[Command] = yield self.command(branch, names_after)
        for variable, name in names_after.items():
            if variable in self.names and self.names[variable] != name:
                old = Name((self.names[variable],), **near.place)
                commands.append(self._assign(near, variable, old, names_after))
        while len(self.trail) > mark:
            changed, old_name = self.trail.pop()
            if old_name is None:
                del self.names[changed]
            else:
                self.names[changed] = old_name
        return commands

    def _name(self, variable: Variable, name: str) -> None:
        self.trail.append((variable, self.names.get(variable)))
        self.names[variable] = name

    def _expression(self, expression: Expr) -> Expr:
        return rewrite(expression, self._reference)

    def _reference(self, node: Expr) -> Expr:
        if isinstance(node, Index):
            return self.read(node)
        if not isinstance(node, Name):
            return node
        if len(node.parts) == 1 and node.root in self.names:
            return Name((self.names[node.root],), **node.place)
        return self.read(node)

"""The rules a program must obey, and the sorts that follow from them.

* every operand is defined before use on every path to its use;
* no name is assigned twice on any path (weak single assignment), inputs never;
* a name assigned in both branches of an ``if`` has the same sort in both;
* every op's sort rule holds; conditions are scalar Booleans; output names are distinct.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import VerificationError
from .op import Literal, Operand, format_operand
from .sorts import BOOL, Sort, format_name
from .statements import Code, If, Let, walk


def verify(program: Code) -> None:
    """Raise ``VerificationError`` (naming statement and origin) unless the program is valid."""
    infer_sorts(program)


def infer_sorts(program: Code) -> Mapping[str, Sort]:
    """The sort of every value, after checking all rules."""
    checker = _Checker()
    for name, sort in program.inputs:
        if name in checker.sorts:
            raise VerificationError(f"input {format_name(name)} is declared twice")
        checker.sorts[name] = sort
        checker.assign(name)
    for tag, statement in walk(program.body):
        if isinstance(statement, Let):
            checker.let(statement)
        else:
            getattr(checker, f"on_{tag}")(statement)
    names = [name for name, _ in program.outputs]
    if not names or len(set(names)) != len(names):
        raise VerificationError("a program needs outputs with distinct names")
    for name, operand in program.outputs:
        checker.sort_of(operand, f"output {format_name(name)}")
    return checker.sorts


@dataclass(slots=True, eq=False)
class _Arm:
    """One branch of an ``if`` (or the whole body): open while the walk is inside it."""

    parent: _Arm | None = None
    open: bool = True
    merged_into: _Arm | None = None  # set once the whole ``if`` is finished
    certain: set[str] = field(default_factory=set)  # assigned on every path through this arm

    def root(self) -> _Arm:
        """The arm that what happened here now counts for (union-find with path halving)."""
        arm = self
        while (above := arm.merged_into) is not None:
            arm.merged_into = above.merged_into or above
            arm = above
        return arm


@dataclass(slots=True)
class _Checker:
    """Follows the walk; linear in the size of the program, however deeply it is nested.

    The latest assignment of a name decides alone: if it lies on another path than the current
    arm, so do all before it, since the walk visits each ``if`` as one piece, arm after arm.
    """

    sorts: dict[str, Sort] = field(default_factory=dict)
    arm: _Arm = field(default_factory=_Arm)
    finished: list[_Arm] = field(default_factory=list)  # the then arms of the open ifs
    assigned: dict[str, _Arm] = field(default_factory=dict)  # name -> arm of the latest assignment
    home: dict[str, _Arm] = field(default_factory=dict)  # name -> arm where it is surely assigned

    def sort_of(self, operand: Operand, where: str) -> Sort:
        if isinstance(operand, Literal):
            return operand.sort
        home = self.home.get(operand)
        if home is None or not home.open:
            raise VerificationError(f"{where}: {format_name(operand)} is not defined here")
        return self.sorts[operand]

    def assign(self, name: str) -> None:
        self.assigned[name] = self.home[name] = self.arm
        self.arm.certain.add(name)

    def let(self, statement: Let) -> None:
        name = statement.name
        where = f"{format_name(name)} = {statement.op.name}(…)"
        if statement.origin:
            where += f" ({statement.origin})"
        before = self.assigned.get(name)
        if before is not None and before.root().open:
            raise VerificationError(f"{where}: the name is assigned a second time on some path")
        operands = [self.sort_of(operand, where) for operand in statement.op.operands()]
        try:
            statement.op.check_attributes()
            sort = statement.op.sort(*operands)
        except VerificationError as error:
            raise VerificationError(f"{where}: {error}") from error
        if self.sorts.setdefault(name, sort) != sort:
            raise VerificationError(
                f"{where}: sort {sort} here but {self.sorts[name]} in another branch"
            )
        self.assign(name)

    def on_if(self, statement: If) -> None:
        where = f"if {format_operand(statement.condition)}"
        sort = self.sort_of(statement.condition, where)
        if sort != BOOL:
            raise VerificationError(f"{where}: the condition is {sort}, not Bool")
        self.arm = _Arm(self.arm)

    def on_else(self, statement: If) -> None:
        self.arm.open = False
        self.finished.append(self.arm)
        self.arm = _Arm(self.arm.parent)

    def on_end(self, statement: If) -> None:
        then, orelse = self.finished.pop(), self.arm
        assert orelse.parent is not None
        self.arm, orelse.open = orelse.parent, False
        then.merged_into = orelse.merged_into = self.arm
        for name in then.certain & orelse.certain:
            self.home[name] = self.arm
            self.arm.certain.add(name)
        then.certain = orelse.certain = set()

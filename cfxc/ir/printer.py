"""Programs as text; ``parse_program(print_program(p)) == p``, origins included."""

from __future__ import annotations

from .op import format_operand
from .sorts import format_name, quote
from .statements import Code, Let, walk

_DEEPEST = 40  # indentation stops here: a chain of n nested ifs prints in O(n)


def print_program(program: Code) -> str:
    """The canonical text of a valid program."""
    sorts = program.sorts
    inputs = ", ".join(f"{format_name(name)}: {sort}" for name, sort in program.inputs)
    lines = [f"program {format_name(program.name)}({inputs}) {{"]
    depth = 1

    def indented(level: int, line: str) -> None:
        lines.append("  " * min(level, _DEEPEST) + line)

    for tag, statement in walk(program.body):
        if isinstance(statement, Let):
            name, origin = statement.name, statement.origin
            suffix = f" @ {quote(origin)}" if origin else ""
            line = f"{format_name(name)}: {sorts[name]} = {statement.op}{suffix}"
            indented(depth, line)
        elif tag == "if":
            indented(depth, f"if {format_operand(statement.condition)} {{")
            depth += 1
        elif tag == "else":
            indented(depth - 1, "} else {")
        else:
            depth -= 1
            indented(depth, "}")
    outputs = ", ".join(
        f"{format_name(name)} = {format_operand(operand)}" for name, operand in program.outputs
    )
    return "\n".join([*lines, f"  return {outputs}", "}"]) + "\n"

"""Mixed-integer programs as text in the LP format, every number exact.

A row is multiplied by the common denominator of its coefficients, so that all it holds are
integers; an end of a column's range that has no finite decimal becomes a row.  Columns are called
x0, x1, … and comments say what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm

from ..mixed_integer import Model, Row

_WIDTH = 98


def mip_text(model: Model, comments: Sequence[str] = ()) -> str:
    """The program as an LP file; ``comments`` come first.

    The objective is multiplied by the common denominator too; a comment says by what, and what
    constant it leaves out.
    """
    lines = [f"\\ {line}" for line in comments]
    lines += [f"\\ x{j}: {_one_line(column.name)}" for j, column in enumerate(model.columns)]
    scale = _scale(model.objective.terms.values())
    lines.append(f"\\ objective: times {scale}, plus {scale * model.objective.constant}")
    lines += ["Minimize", *_wrapped(" obj:", _sum(model.objective.terms, scale))]
    lines.append("Subject To")
    if model.refuted:
        lines += [" refuted: 0 x0 >= 1"] if model.columns else []
    for i, row in enumerate(model.rows):
        lines += _row(f"r{i}", row)
    bounds, whole = [], []
    for j, column in enumerate(model.columns):
        ends = []
        for end, side, relation in ((column.lower, "l", ">="), (column.upper, "u", "<=")):
            text = _decimal(end)
            if text is None:
                lines.append(f" b{j}{side}: {end.denominator} x{j} {relation} {end.numerator}")
            ends.append(text)
        low, high = ends
        bounds.append(
            f" {'-inf' if low is None else low} <= x{j} <= {'inf' if high is None else high}"
        )
        if column.whole:
            whole.append(f"x{j}")
    lines += ["Bounds", *bounds]
    if whole:
        lines += ["General", *_wrapped("", whole)]
    return "\n".join([*lines, "End"]) + "\n"


def _row(name: str, row: Row) -> list[str]:
    ends = [end for end in (row.lower, row.upper) if end is not None]
    scale = _scale([*row.terms.values(), *ends])
    body = _sum(row.terms, scale)
    note = [f"\\ {name}: {row.why}"] if row.why else []
    if row.lower is not None and row.lower == row.upper:
        return [*note, *_wrapped(f" {name}:", [*body, f"= {row.lower * scale}"])]
    for suffix, end, relation in (("l", row.lower, ">="), ("u", row.upper, "<=")):
        if end is not None:
            note += _wrapped(f" {name}{suffix}:", [*body, f"{relation} {end * scale}"])
    return note


def _scale(numbers: Iterable[Fraction]) -> int:
    return lcm(1, *(number.denominator for number in numbers))


def _sum(terms: Mapping[int, Fraction], scale: int) -> list[str]:
    """The summands of a linear form times an integer that clears its denominators."""
    found = []
    for j, factor in sorted(terms.items()):
        number = int(factor * scale)
        found.append(f"{'-' if number < 0 else '+'} {abs(number)} x{j}")
    return found or ["0 x0"]


def _decimal(value: Fraction) -> str | None:
    """The exact decimal of a number, or ``None`` if it has no finite one."""
    rest, places = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest //= prime
            count += 1
        places = max(places, count)
    if rest != 1 or places > 60:
        return None
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole = digits[: len(digits) - places] + (
        "." + digits[len(digits) - places :] if places else ""
    )
    return f"-{whole}" if value < 0 else whole


def _wrapped(head: str, parts: Sequence[str]) -> list[str]:
    """The parts on as many lines as they take."""
    lines = [head]
    for part in parts:
        if len(lines[-1]) + len(part) + 1 > _WIDTH:
            lines.append(" ")
        lines[-1] += f" {part}"
    return lines


def _one_line(text: str) -> str:
    return " ".join(text.split())


__all__ = ["mip_text"]

"""Exact numbers as text that never claims more than was proved."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

DIGITS = 6
PLAIN = range(-6, 13)  # powers of ten that are written out


def shown(value: Fraction, side: int) -> str:
    """``value`` to ``DIGITS`` significant digits, rounded down (side -1) or up (side 1)."""
    context = Context(prec=DIGITS, rounding=ROUND_FLOOR if side < 0 else ROUND_CEILING)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{quotient:f}" if not value or quotient.adjusted() in PLAIN else f"{quotient:E}"


def share_text(share: Fraction | float) -> str:
    """The size of a share in per cent, to two digits."""
    percent = 100 * abs(float(share))
    return f"{percent:.0f} %" if percent >= 99.5 else f"{percent:.2g} %"


def cell_text(value: Any) -> str:
    """A cell as a user would write it; ``None`` and NaN are missing."""
    plain = value.item() if hasattr(value, "item") else value
    if plain is None or plain != plain:
        return "missing"
    if isinstance(plain, float) and plain.is_integer() and abs(plain) < 1e15:
        return str(int(plain))
    return str(plain)

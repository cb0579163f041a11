"""Bounds as text that never claims more than was proved."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context

DIGITS = 6


def shown(value: float, side: int) -> str:
    """``value`` to ``DIGITS`` significant digits, rounded down (side -1) or up (side 1)."""
    rounding = ROUND_FLOOR if side < 0 else ROUND_CEILING
    return f"{Context(prec=DIGITS, rounding=rounding).create_decimal(value).normalize():f}"

"""The textual form of IR programs: printing, parsing and the grammar."""

from __future__ import annotations

from .parser import parse_program
from .printer import print_program

__all__ = ["parse_program", "print_program"]

"""The core language of Karimi et al. (2020, appendix A): text, syntax tree, checks, unrolling.

The way of a text: :func:`parse_program`, :func:`check_program`, :func:`unroll_program`,
:func:`lower_program`; or all at once :func:`compile_program` and :func:`compile_constraint`.
:func:`to_ast` goes back from the IR, :func:`print_program` to the text.  The nodes are in
:mod:`.ast`.
"""

from __future__ import annotations

from . import ast
from .lower import HOLDS, compile_constraint, compile_program, lower_expression, lower_program
from .parser import parse_expression, parse_program
from .printer import print_expression, print_program
from .raising import to_ast, to_text
from .unroll import unroll_expression, unroll_program
from .wellformed import check_program

__all__ = [
    "HOLDS",
    "ast",
    "check_program",
    "compile_constraint",
    "compile_program",
    "lower_expression",
    "lower_program",
    "parse_expression",
    "parse_program",
    "print_expression",
    "print_program",
    "to_ast",
    "to_text",
    "unroll_expression",
    "unroll_program",
]

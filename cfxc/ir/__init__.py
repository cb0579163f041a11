"""The IR: sorts, ops, programs, their textual form, verifier and evaluators."""

from __future__ import annotations

from . import ops
from .batch import BatchEvaluator
from .evaluator import evaluate
from .op import Literal, Op, Operand
from .parser import parse_program
from .printer import print_program
from .program import Builder, Program
from .sorts import BOOL, INT, REAL, Label, LabelTuple, Sort, category, real
from .statements import If, Let, Statement, rewrite, walk
from .tensor import Tensor
from .verifier import verify

__all__ = [
    "BOOL", "INT", "REAL", "BatchEvaluator", "Builder", "If", "Label", "LabelTuple", "Let",
    "Literal", "Op", "Operand", "Program", "Sort", "Statement", "Tensor", "category", "evaluate",
    "ops", "parse_program", "print_program", "real", "rewrite", "verify", "walk",
]  # fmt: skip

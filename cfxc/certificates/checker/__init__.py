"""A checker of certificates on the standard library alone; the format, and for every rule the lemma
that makes it sound, are in ``docs/reference/certificate-format.md``.
"""

from .claim import VERSION, Shown, check
from .program import CONSTANT, HALF_ULP, LEAST, Form, plus, rounded
from .question import ACTIONS, KINDS, Feature, Question, misses
from .reader import ODD, Clock, Rejected, Undecided, canonical, listed, need, number, parse, read
from .rules import Multipliers, Proof

__all__ = [
    "ACTIONS", "CONSTANT", "HALF_ULP", "KINDS", "LEAST", "ODD", "VERSION", "Clock", "Feature",
    "Form", "Multipliers", "Proof", "Question", "Rejected", "Shown", "Undecided", "canonical",
    "check", "listed", "misses", "need", "number", "parse", "plus", "read", "rounded",
]  # fmt: skip

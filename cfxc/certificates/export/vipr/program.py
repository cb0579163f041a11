"""The mixed-integer program of a question: the nearest admissible change with the outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from ....errors import UnsupportedError
from ...checker import Form, Question
from ...checker.smooth import CURVES
from ..smtlib import ITSELF
from .features import Features
from .forms import Forms
from .problem import Problem
from .ranges import Ranges


def nearest(question: Question, deadline: float = math.inf) -> Problem:
    """Minimise the distance of what is admissible, meets the constraints and has the outcome.

    Every such point is a point of the program with the same distance, so that what the program
    proves holds of them; ``notes`` say where the program allows more.

    Raises:
        UnsupportedError: the distance is l2, or has its square in it, which is not linear; there
            is a trust region; or making the program took until the ``deadline``.
    """
    if question.region is not None:
        raise UnsupportedError("VIPR: trust regions are not written", remedy=ITSELF)
    if question.norms[3]:
        raise UnsupportedError("VIPR: l2 is not linear", remedy="use a mix of l0, l1 and linf")
    curves = sorted(set(CURVES) & set(question.program.kinds))
    if curves:
        raise UnsupportedError(f"VIPR: '{curves[0]}' is smooth, and not linear")
    if {"form", "product"} & set(question.program.kinds):
        raise UnsupportedError(
            "VIPR: products ('product') and what they, or trees, are of ('form') are not written",
            remedy="export to smt2",
        )
    problem, every = Problem(deadline=deadline), list(_forms(question))
    read, tests = _read(question, every)
    features = Features(problem, question, tests, read)
    forms = Forms(problem, question, features, Ranges(question, features.lattice))
    for form, strict in question.target_rows:
        forms.require(form, strict, "target", "the target outcome is the model's")
    for truth in question.truths:
        forms.truth(truth, True, None)
    problem.close()
    return problem


def _forms(question: Question) -> Iterator[Form]:
    """What is asked of forms, and all forms that those read, in turn."""
    stack = [form for form, _ in question.target_rows]
    stack += [form for truth in question.truths for form in _atoms(truth)]
    seen: set[int] = set()
    while stack:
        form = stack.pop()
        yield form
        for kind, k, *_ in form:
            if kind in ("unit", "step", "single") and k not in seen:
                seen.add(k)
                stack.append(question.program.made[k])


def _atoms(truth: Any) -> Iterable[Form]:
    kind, parts = truth
    return parts if kind in ("ge", "gt") else [form for part in parts for form in _atoms(part)]


def _read(question: Question, forms: Iterable[Form]) -> tuple[set[int], dict[int, set[Any]]]:
    """The numbers that forms read, and the tests of numbers that trees make of them."""
    sources = {source[:2] for form in forms for source in form}
    tests: dict[int, set[Any]] = {}
    for n in (k for kind, k in sources if kind == "tree"):
        for node in question.program.trees[n][1]:
            if isinstance(node, tuple) and not question.features[node[0]].labels:
                tests.setdefault(node[0], set()).add(node[1])
    return {k for kind, k in sources if kind == "x"}, tests

"""Programs evaluated in floats, adding up in any order, and how far off that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
from scipy.special import ndtr

from cfxc.certificates.checker import Question, Rejected
from cfxc.certificates.checker.slack import Rounding
from tests.certificates.false_questions import Content, Meaning, single
from tests.certificates.written import number, question

F = Fraction
KINDS: dict[str, Any] = {"float": np.float64, "float32": np.float32}
FACTORS = (F(1), F(-1), F(1, 3), F(-2, 7), F(2**60), -F(2**60), F(1, 2**60), F(1, 10), F(2**24 + 1))
EDGES = (F(2**100), F(2**126), -F(2**127), F(1, 2**130), F(1, 2**149), F(3, 2**151), F(2, 2**1075),
         F(1, 2**1076), F(2**1000), -F(2**1023), F(10) ** 400, F(1, 3 * 2**1070))  # fmt: skip
RANGES = ((0.1, 0.0, 1.0), (3.0, -4.0, 4.0), (16777217.0, 0.0, 33554432.0), (5e-324, 0.0, 1e-320),
          (1.5e-42, 0.0, 1e-40), (2.0**60 + 512, 0.0, 2.0**61), (1e30, 0.0, 1e31), (0.3, 0.3, 0.3),
          (1e300, 0.0, 1e300))  # fmt: skip


SMOOTH = ("exp", "sigmoid", "tanh", "softplus", "gelu", "silu", "mish", "elu")
CURVES: dict[str, Any] = {
    "exp": np.exp,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "softplus": lambda z: np.logaddexp(z.dtype.type(0), z),
    "normal": ndtr,
}
"""Smooth functions as libraries compute them in floats."""


class Refused(Exception):
    """The checker allows no slack for this program, or takes it for none."""


def draw_program(rng: Random, smooth: Sequence[str] = SMOOTH) -> Content:
    """A question whose program cancels, underflows, or is large, now and then."""
    features = []
    hard = rng.random() < 0.3
    for j in range(rng.randint(1, 4)):
        own, low, high = rng.choice(RANGES if hard else RANGES[:3])
        step, width = rng.choice(((None, 8), (None, 4), (F(1, 10), 8), (1, 0), (1, 4)))
        if width == 0 and high > 2**53:
            step, width = None, 8
        if high - low < 1e-3 or high > 1e6:
            step = None if width != 0 else step
        features.append(number(f"f{j}", *map(F, (own, low, high)), step=step, width=width))
    made: list[Any] = []
    trees = [_stumps(rng, len(features)) for _ in range(rng.randint(0, 1))]
    for _ in range(rng.choice((0, 1, 2, 4))):
        named = [k for k, (kind, *_) in enumerate(made) if kind == "form"]
        if named and rng.random() < 0.5:
            made.append(["product", rng.choice(named), rng.choice(named)])
            continue
        if rng.random() < 0.3:
            form = _form(rng, features, made, trees if hard else [], hard)
            _bend(rng.choice(smooth), form, made)
            continue
        kind = rng.choice(("unit", "step", "single", "form", "form"))
        made.append([kind, _form(rng, features, made, trees if hard else [], hard)])
    named = [k for k, (kind, *_) in enumerate(made) if kind == "form"]
    if named and rng.random() < 0.4:  # a tree that tests what is made
        root = ["form", rng.choice(named), str(rng.choice(FACTORS)), 1, 2]
        trees.append({"roots": [0], "nodes": [root, ["1"], ["-2/7"]]})
    outputs = [_form(rng, features, made, trees, hard) for _ in range(2)]
    return question(
        features, outputs, made=made, trees=trees, labels=["a", "b"], target={"label": "b"}
    )


def _bend(name: str, form: list[Any], made: list[Any]) -> None:
    """Append a smooth function of a form, as certificates write it; refused where exp is in it."""

    def let(kind: str, *given: Any) -> list[Any]:
        made.append([kind, *given])
        return [kind, len(made) - 1]

    def twice(source: list[Any]) -> list[Any]:
        return let("form", [[let("sigmoid", [[source, "2"]]), "2"], [["one", 0], "-1"]])

    if name in ("exp", "sigmoid", "softplus"):
        let(name, form)
        return
    z = let("form", form)
    if name == "tanh":
        twice(z)
    elif name == "elu":
        below = let("unit", [[z, "-1"]])
        raised = let("exp", [[below, "-1"]])
        let("form", [[let("unit", [[z, "1"]]), "1"], [raised, "1"], [["one", 0], "-1"]])
    elif name == "mish":
        let("product", z[1], twice(let("softplus", [[z, "1"]]))[1])
    else:
        gate = let({"gelu": "normal", "silu": "sigmoid"}[name], [[z, "1"]])
        let("product", z[1], let("form", [[gate, "1"]])[1])


def _form(rng: Random, features: Any, made: Any, trees: Any, hard: bool) -> list[Any]:
    if made and rng.random() < 0.2:  # the sign of one exact thing
        return [[["x", rng.randrange(len(features))], "1"], [["one", 0], str(-F(1, 4))]]
    pool = FACTORS + EDGES if hard else FACTORS
    sources = [["x", j] for j in range(len(features))] + [["one", 0]]
    sources += [[kind, k] for k, (kind, *_) in enumerate(made)]
    sources += [["tree", n, 0] for n in range(len(trees))]
    kept = [source for source in sources if rng.random() < 0.7] or sources[:1]
    form = [[source, str(rng.choice(pool))] for source in kept]
    if len(form) > 1 and rng.random() < 0.4:  # cancels, nearly
        form[1][1] = str(-F(form[0][1]))
    return form


def _stumps(rng: Random, count: int) -> Content:
    nodes, roots = list[Any](), list[int]()
    for _ in range(rng.randint(1, 6)):
        place = len(nodes)
        roots.append(place)
        leaves = [[str(rng.choice(FACTORS))] for _ in range(2)]
        nodes += [[rng.randrange(count), "1/4", place + 1, place + 2], *leaves]
    return {"roots": roots, "nodes": nodes}


class Floats:
    """A program in floats of one kind; tests of trees are of the values themselves."""

    def __init__(self, content: Content, kind: str, rng: Random) -> None:
        self.program, self.kind, self.type, self.rng = content["program"], kind, KINDS[kind], rng

    def scores(self, point: Any) -> list[Any]:
        """The outputs."""
        self.point, self.made = point, list[Any]()
        for kind, *given in self.program["made"]:
            if kind == "product":
                self.made.append(self.type(self.made[given[0]] * self.made[given[1]]))
                continue
            z = self.form(given[0])
            if kind == "form":
                self.made.append(z)
                continue
            if kind in CURVES:
                self.made.append(self.type(CURVES[kind](z)))
                continue
            made = max(z, self.type(0)) if kind == "unit" else self.type(z >= 0)
            self.made.append(self.type(np.float32(z)) if kind == "single" else made)
        return [self.form(form) for form in self.program["outputs"]]

    def held(self, value: F) -> Any:
        """The nearest float."""
        return self.type(float(single(value)) if self.kind == "float32" else float(value))

    def form(self, form: Any) -> Any:
        return self.sum([self.held(F(f)) * self.source(source) for source, f in form])

    def source(self, source: Any) -> Any:
        kind, k, *rest = source
        if kind in ("one", "is"):
            return self.type(1 if kind == "one" else self.point[k] == rest[0])
        if kind == "x":
            return self.held(F(self.point[k]))
        return self.tree(self.program["trees"][k]) if kind == "tree" else self.made[k]

    def tree(self, ensemble: Any) -> Any:
        found = []
        for root in ensemble["roots"]:
            node = ensemble["nodes"][root]
            while type(node[0]) is int or node[0] == "form":
                j, test, *both = node[-4:]
                value = float(self.made[j]) if node[0] == "form" else self.point[j]
                node = ensemble["nodes"][both[0 if F(value) <= F(test) else 1]]
            found.append(self.held(F(node[0])))
        return self.sum(found)

    def sum(self, terms: list[Any]) -> Any:
        """The sum of terms, any two of which are added next."""
        terms = list(terms)
        while len(terms) > 1:
            self.rng.shuffle(terms)
            terms.append(self.type(terms.pop() + terms.pop()))
        return terms[0] if terms else self.type(0)


def worst(content: Content, kind: str, rng: Random, orders: int = 4) -> Fraction:
    """The largest error of an output over what the checker allows for; at most 1 if it is sound.

    Raises:
        Refused: the checker allows no slack for it.
    """
    try:
        question = Question(*(content[name] for name in ("features", "program", "question")))
        rounding = Rounding(question, kind)
        allowed = [rounding.sum(form)[1] for form in question.program.outputs]
    except (Rejected, ArithmeticError) as error:
        raise Refused(str(error)) from None
    exact, found = Meaning(content), F(0)
    for point in _places(content, rng):
        truth = exact.scores(point)
        for _ in range(orders):
            with np.errstate(all="ignore"):
                scores = Floats(content, kind, rng).scores(point)
            for score, own, room in zip(scores, truth, allowed, strict=True):
                if not math.isfinite(score):
                    return F(10**9)
                off = abs(F(float(score)) - own)
                found = max(found, off / room if room else F(off > 0) * 10**9)
    return found


def _places(content: Content, rng: Random) -> list[list[F]]:
    """Ends of ranges, the factual's own values, and what lies between."""
    asked = Question(*(content[name] for name in ("features", "program", "question")))
    choices = []
    for feature in asked.features:
        low, high = feature.all
        middle = feature.near((low + high) * F(rng.randint(1, 9), 10), 1)
        choices.append([x for x in (low, high, feature.own, middle) if x is not None])
    return [[rng.choice(each) for each in choices] for _ in range(6)]


__all__ = ["KINDS", "Floats", "Refused", "draw_program", "worst"]

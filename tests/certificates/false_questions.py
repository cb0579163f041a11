"""Small questions of every kind, drawn at random, and what is true of them by enumeration.

Nothing here asks the checker anything: admissible values, programs, conditions and distances are
evaluated by their definitions, in fractions, at every admissible point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from random import Random
from typing import Any

import mpmath
import numpy as np

F = Fraction
FAR = 1100
POINTS = 150  # admissible points of one question, at most
Content = dict[str, Any]
NORMS = (
    (0, 1, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (F(1, 2), F(1, 2), 0, 0),
    (F(1, 4), F(1, 4), F(1, 2), 0), (0, F(1, 3), F(2, 3), 0), (F(1, 3), 0, 0, F(2, 3)),
    (F(1, 5), 0, F(4, 5), 0),
)  # fmt: skip
LABELS = (["a", "b", "c"], ["no", "yes"], [0, 1, 2], [False, True], [1, True, "1"],
          [{"float": "1/2"}, {"float": "1"}], [None, "x"], ["lo", "mid", "hi", "top"])  # fmt: skip
FACTORS = (F(1), F(1), F(-1), F(2), F(-3), F(1, 2), F(1, 3), F(-1, 3), F(2**40), F(-1, 2**40))
BASES = (1.0, 0.1, -3.7, 2.0**60, -(2.0**-30), 5e-324, 0.0, 1.5e-42)


def held(width: int, value: F) -> F:
    """What a cell of so many bytes holds."""
    number = float(value)
    return value if not width else F(float(np.float32(number))) if width == 4 else F(number)


def after(width: int, value: F, steps: int = 1) -> F:
    """The float so many floats further up."""
    if width == 4:
        number = np.float32(float(value))
        for _ in range(steps):
            number = np.nextafter(number, np.float32(np.inf))
        return F(float(number))
    found = float(value)
    for _ in range(steps):
        found = math.nextafter(found, math.inf)
    return F(found)


# -- questions ------------------------------------------------------------------------------------


def draw_question(rng: Random) -> Content:
    """Features, program and question of a certificate, with few admissible points."""
    while True:
        count = rng.randint(2, 4)
        drawn = [_feature(rng, f"f{j}") for j in range(count)]
        features = [feature for feature, _ in drawn]
        if not any(F(feature["weight"]) for feature in features):
            continue
        norms = dict(zip(("l0", "l1", "linf", "l2"), map(str, rng.choice(NORMS)), strict=True))
        question = {"factual": [own for _, own in drawn], "target": None, "slack": "0",
                    "norms": norms, "constraints": []}  # fmt: skip
        content = {"features": features, "program": {}, "question": question}
        sizes = [len(values(content, j)) for j in range(count)]
        if not (min(sizes) and 3 < math.prod(sizes) <= POINTS):
            continue
        try:
            Programs(rng, content).draw()
        except ValueError:  # products of huge exponentials: too many digits to be written
            continue
        break
    if rng.random() < 0.25:
        question["slack"] = str(rng.choice((F(1, 4), F(1, 2**40), F(1))))
    return content


def _feature(rng: Random, name: str) -> tuple[Content, Any]:
    feature: Content = {"name": name, "weight": str(rng.choice((1, 1, 1, 2, F(1, 3), 0)))}
    feature["action"] = rng.choice(("free", "free", "free", "increase", "decrease", "fixed"))
    if rng.random() < 0.3:
        labels = rng.choice(LABELS)
        kind = rng.choice(("ordinal", "categorical", "binary"))
        feature |= {"kind": kind, "labels": labels, "lower": None, "upper": None, "step": None}
        return {**feature, "float": 0}, rng.choice(labels)
    low, high, step, width = rng.choice((_integers, _grid, _floats, _floats))(rng)
    kind = "integer" if step == 1 and width == 0 else "real"
    numbers = {"lower": str(low), "upper": str(high), "step": None if step is None else str(step)}
    feature |= {"kind": kind, "labels": [], **numbers, "float": width}
    inside = list(_between(low, high, step, width))
    inside += [x for x in (F(float((low + high) / 2)),) if low <= x <= high]
    if not inside:
        return _feature(rng, name)
    return _with_gap(rng, feature, str(rng.choice(inside)))


def _with_gap(rng: Random, feature: Content, own: str) -> tuple[Content, str]:
    """Now and then a number that is missing and stays so, or that may be filled in or lost."""
    if rng.random() < 0.6:
        return feature, own
    low, high = F(feature["lower"]), F(feature["upper"])
    below = -after(8, -held(8, low - rng.choice((0, high - low, 3 * (high - low)))))
    if below >= low or (feature["float"] == 0 and below.denominator > 1):
        return feature, own
    if rng.random() < 0.2:
        return {**feature, "missing": True}, str(below)
    feature["action"] = feature["action"].replace("fixed", "free")
    return {**feature, "absent": str(below)}, rng.choice((own, str(below)))


def _integers(rng: Random) -> tuple[F, F, F, int]:
    low = F(rng.choice((0, -2, 7, 2**24 - 1)))
    return low, low + rng.randint(0, 4), F(1), rng.choice((0, 0, 4, 8))


def _grid(rng: Random) -> tuple[F, F, F, int]:
    step, width = rng.choice((F(1, 10), F(1, 4), F(3, 7), F(7, 3), F(1, 3))), rng.choice((4, 8))
    first, cells = rng.randint(-3, 5), rng.randint(1, 5)
    low, high = first * step, (first + cells) * step
    if rng.random() < 0.5:
        low, high = held(width, low), held(width, high)
    if rng.random() < 0.2:
        low, high = low - step / 3, high + step / 5
    return low, high, step, width


def _floats(rng: Random) -> tuple[F, F, F | None, int]:
    """A few adjacent floats, sometimes on a grid as fine as they are, or finer."""
    width = rng.choice((4, 8))
    low = held(width, F(rng.choice(BASES)))
    high = after(width, low, rng.randint(1, 4))
    ulp = after(width, low) - low
    if rng.random() < 0.3:
        low, high = low - ulp / 3, high + ulp / 7
    step = rng.choice((None, None, ulp / 3, ulp * F(7, 10), ulp * F(3, 2)))
    return low, high, step, width


def _between(low: F, high: F, step: F | None, width: int) -> Iterator[F]:
    """Floats, or what cells hold of multiples of a step, from low to high."""
    if step is None:
        value = held(width, low)
        value = value if value >= low else after(width, value)
        while value <= high:
            yield value
            value = after(width, value)
        return
    wide = after(width or 8, max(abs(held(width, low)), abs(held(width, high)))) * F(1, 2**22)
    spare = math.ceil(min(wide, high - low + step) / step) + 3
    span = range(math.floor(low / step) - spare, math.ceil(high / step) + spare)
    found = {held(width, held(8, k * step) if width else k * step) for k in span}
    yield from sorted(x for x in found if low <= x <= high)


def values(content: Content, j: int) -> list[Any]:
    """Admissible values of a feature: places of labels, or numbers."""
    feature, own = content["features"][j], content["question"]["factual"][j]
    action = feature["action"]
    if feature["labels"]:
        here = place(feature["labels"], own)
        first = here if action in ("fixed", "increase") else 0
        last = here if action in ("fixed", "decrease") else len(feature["labels"]) - 1
        return list(range(first, last + 1))
    own, low, high = F(own), F(feature["lower"]), F(feature["upper"])
    absent = F(feature["absent"]) if "absent" in feature else None
    if "missing" in feature:
        return [own]
    action = "free" if own == absent else action
    step = None if feature["step"] is None else F(feature["step"])
    low = own if action in ("fixed", "increase") else low
    high = own if action in ("fixed", "decrease") else high
    found = set(_between(low, high, step, feature["float"])) | {own}
    found = {x for x in found if low <= x <= high}
    return sorted(found if absent is None else found | {absent})


def place(labels: list[Any], label: Any) -> int:
    """Where a label stands among others; 1 is not true."""
    return [(type(x), x) for x in labels].index((type(label), label))


class Programs:
    """Draws a program and what is asked of it, with ties at some point."""

    def __init__(self, rng: Random, content: Content) -> None:
        self.rng, self.content, self.features = rng, content, content["features"]
        self.made: list[Any] = []
        self.trees: list[Any] = []
        self.named: list[int] = []  # forms that trees may test
        self.has_curves = rng.random() < 0.3

    def draw(self) -> None:
        rng, content = self.rng, self.content
        reads_trees = rng.random() < 0.5
        if reads_trees:
            self.trees = [self.ensemble(rng.randint(1, 2)) for _ in range(rng.randint(1, 2))]
        for _ in range(rng.choice((0, 0, 1, 2, 3, 5))):
            self.made.append(self.entry())
        if reads_trees and rng.random() < 0.6:  # trees that test what is made
            self.named = [k for k, (kind, *_) in enumerate(self.made) if kind == "form"]
            if self.named and rng.random() < 0.5:  # and what is made of these, in turn
                self.trees.append(self.ensemble(1))
                self.made.append(["form", self.form(True)])
            elif self.named:
                self.trees.append(self.ensemble(rng.randint(1, 2)))
        labels = rng.choice((None, None, ["a", "b"], ["a", "b", "c"], [0, 1]))
        outputs = [self.form(True) for _ in labels or [0]]
        content["program"] |= {"made": self.made, "trees": self.trees, "labels": labels}
        content["program"]["outputs"] = outputs
        if rng.random() < 0.5:
            truths = [self.truth(rng.randint(0, 2)) for _ in range(rng.randint(1, 2))]
            content["question"]["constraints"] = truths
        self.read_all(outputs[0])
        self.ask(Meaning(content))

    def entry(self) -> list[Any]:
        """A form that is made into something, or a product of two that were."""
        rng, named = self.rng, [k for k, (kind, *_) in enumerate(self.made) if kind == "form"]
        if named and rng.random() < 0.6:
            return ["product", rng.choice(named), rng.choice(named)]
        kind = rng.choice(("unit", "unit", "step", "single", "form", "form"))
        if self.has_curves and rng.random() < 0.6:
            kind = rng.choice([*CURVES])
            form = self.form(False)
            sizes = [abs(F(f)) for _, f in form]
            return [kind, [[s, str(F(f) / max(1, *sizes))] for s, f in form]]
        return [kind, self.form(rng.random() < 0.2)]

    def read_all(self, form: list[Any]) -> None:
        """Nothing is made, and no tree grows, that nothing reads."""
        program, rules = self.content["program"], self.content["question"]["constraints"]
        for n in range(len(self.trees)):
            inner = [own[1] for own in self.made if own[0] != "product"]
            if not reads([program["outputs"], rules, inner], ["tree", n]):
                form.insert(0, [["tree", n, 0], "1"])
        tested = [node[:2] for ensemble in self.trees for node in ensemble["nodes"]]
        for k, (kind, *_) in enumerate(self.made):
            later = [own[1] for own in self.made[k + 1 :] if own[0] != "product"]
            times = any(own[0] == "product" and k in own[1:] for own in self.made)
            times = times or ["form", k] in tested
            if not times and not reads([program["outputs"], rules, later], [kind, k]):
                form.insert(0, [[kind, k], "1"])

    def form(self, with_trees: bool) -> list[Any]:
        """Some terms, each about as large as the others over its feature's range."""
        rng, terms, constant = self.rng, dict[tuple[Any, ...], F](), F(rng_quarter(self.rng))
        for j, feature in enumerate(self.features):
            if rng.random() < 0.4:
                continue
            factor = rng.choice(FACTORS)
            if feature["labels"]:
                for i in range(len(feature["labels"])):
                    terms["is", j, i] = factor * rng.randint(-2, 2)
            else:
                size = F(feature["upper"]) - F(feature["lower"])
                factor = factor / size if size else factor
                terms["x", j] = factor
                constant -= factor * F(feature["lower"])
        for k, (kind, *_) in enumerate(self.made):
            if rng.random() < 0.6:
                terms[kind, k] = rng.choice(FACTORS)
        for n, ensemble in enumerate(self.trees if with_trees else []):
            for c in range(len(ensemble["nodes"][-1])):
                if rng.random() < 0.7:
                    terms["tree", n, c] = rng.choice(FACTORS)
        terms["one", 0] = constant
        return [[list(source), str(factor)] for source, factor in terms.items()]

    def ensemble(self, width: int) -> Content:
        """One to three trees of depth up to 3."""
        nodes: list[Any] = []
        roots = [self._grow(nodes, self.rng.randint(0, 3), width) for _ in range(3)]
        count = self.rng.randint(1, 3)
        if count < 3:
            nodes = nodes[: roots[count]]
        return {"roots": roots[:count], "nodes": nodes}

    def _grow(self, nodes: list[Any], depth: int, width: int) -> int:
        own = len(nodes)
        nodes.append(None)
        if not depth:
            nodes[own] = [str(rng_quarter(self.rng)) for _ in range(width)]
            return own
        if self.named and self.rng.random() < 0.7:
            where: list[Any] = ["form", self.rng.choice(self.named)]
            test: Any = str(self._edge(where[1]))
            children = [self._grow(nodes, self.rng.randint(0, depth - 1), width) for _ in range(2)]
            nodes[own] = [*where, test, *children]
            return own
        j = self.rng.randrange(len(self.features))
        labels = self.features[j]["labels"]
        if labels:
            test = [i for i in range(len(labels)) if self.rng.random() < 0.5]
        else:
            test = str(cut_of(self.rng, self.content, j))
        children = [self._grow(nodes, self.rng.randint(0, depth - 1), width) for _ in range(2)]
        nodes[own] = [j, test, *children]
        return own

    def _edge(self, k: int) -> F:
        """What a form is at some point, or is not far from."""
        content = {**self.content, "program": {"made": self.made, "trees": self.trees}}
        value = Meaning(content).z(k, self.rng.choice(list(points(self.content))))
        exact = () if self.has_curves else (F(0), F(0))  # of smooth functions no one knows ties
        return value + self.rng.choice((*exact, F(1, 2**60), F(-1, 2**60), F(1, 3)))

    def truth(self, depth: int) -> list[Any]:
        """A condition, often on few things."""
        rng = self.rng
        if not depth:
            return [rng.choice(("ge", "gt")), self.form(rng.random() < 0.5)]
        kind = rng.choice(("and", "or", "not"))
        count = 1 if kind == "not" else rng.randint(0, 3)
        return [kind, *(self.truth(depth - 1) for _ in range(count))]

    def ask(self, meaning: Meaning) -> None:
        """A target that some point reaches exactly, or misses or passes by a hair."""
        rng, program, question = self.rng, self.content["program"], self.content["question"]
        scores = meaning.scores(rng.choice(list(points(self.content))))
        exact = () if self.has_curves else (F(0), F(0))
        hair = rng.choice((*exact, F(1, 2**60), -F(1, 2**60), F(1, 2), F(-1)))
        if program["labels"] is None:
            low, high = scores[0] + hair, scores[0] + hair + rng.choice((0, 0, F(1, 2)))
            ends = rng.choice(((low, None), (None, high), (low, high)))
            names = zip(("lower", "upper"), ends, strict=True)
            question["target"] = {n: None if end is None else str(end) for n, end in names}
            return
        own = rng.randrange(len(scores))
        margin = rng.choice((0, 0, 0, F(1, 2)))
        rivals = [score for r, score in enumerate(scores) if r != own]
        constant = program["outputs"][own][-1]
        constant[1] = str(F(constant[1]) + max(rivals) + margin - scores[own] + hair)
        question["target"] = {"label": program["labels"][own]}
        if margin or rng.random() < 0.1:
            least = rng.choice((None, str(max(rivals) + rng.choice((0, 1)))))
            question["target"] |= {"margin": str(margin), "least": least}


def reads(value: Any, source: list[Any]) -> bool:
    """Whether a source stands anywhere in forms."""
    if not isinstance(value, list):
        return False
    return value[:2] == source or any(reads(each, source) for each in value)


def rng_quarter(rng: Random) -> F:
    return F(rng.randint(-8, 8), 4)


def cut_of(rng: Random, content: Content, j: int) -> F:
    """A double at, beside or between admissible values."""
    value = rng.choice(values(content, j))
    beside = after(8, value), -after(8, -value), F(float(value + rng.choice((F(1, 3), F(-1)))))
    return rng.choice((value, value, *beside))


# -- truth ----------------------------------------------------------------------------------------


def points(content: Content) -> Iterator[tuple[Any, ...]]:
    """All admissible points."""
    return product(*(values(content, j) for j in range(len(content["features"]))))


class Meaning:
    """Program, conditions and distance, evaluated by definition."""

    def __init__(self, content: Content) -> None:
        self.content, self.program = content, content["program"]

    def form(self, form: list[Any], point: Any) -> F:
        """The value of a form."""
        return sum((F(f) * self._source(source, point) for source, f in form), F(0))

    def _source(self, source: list[Any], point: Any) -> F:
        kind, k, *rest = source
        if kind == "one":
            return F(1)
        if kind == "x":
            return F(point[k])
        if kind == "is":
            return F(point[k] == rest[0])
        if kind == "tree":
            return self._trees(self.program["trees"][k], rest[0], point)
        entry = self.program["made"][k]
        if kind == "product":
            return math.prod(self._source(["form", i], point) for i in entry[1:])
        z = self.form(entry[1], point)
        if kind == "form":
            return z
        if kind in CURVES:
            return curve(kind, z)
        return max(z, F(0)) if kind == "unit" else F(z >= 0) if kind == "step" else single(z)

    def z(self, k: int, point: Any) -> F:
        """What is said of entry k of those made: its form or, of a product, itself."""
        kind, *given = self.program["made"][k]
        return self._source([kind, k], point) if kind == "product" else self.form(given[0], point)

    def within(self, signs: Any, point: Any) -> bool:
        """Whether the forms that were split lie where a part says."""
        return all(
            (key[1] * self.z(key[0], point) <= end if key[1] else self.z(key[0], point) > end)
            if isinstance(key, tuple) else end * self.z(key, point) >= 0
            for key, end in signs.items()
        )  # fmt: skip

    def _trees(self, ensemble: Content, column: int, point: Any) -> F:
        total = F(0)
        for root in ensemble["roots"]:
            node = ensemble["nodes"][root]
            while type(node[0]) is int or node[0] == "form":
                j, test, *both = node[-4:]
                value = self.z(j, point) if node[0] == "form" else point[j]
                left = value in test if isinstance(test, list) else value <= F(test)
                node = ensemble["nodes"][both[0 if left else 1]]
            total += F(node[column])
        return total

    def scores(self, point: Any) -> list[F]:
        """The outputs."""
        return [self.form(form, point) for form in self.program["outputs"]]

    def reached(self, point: Any) -> bool:
        """Whether the outcome is the target, or misses it by no more than the slack."""
        question, found = self.content["question"], self.scores(point)
        target, slack = question["target"], F(question["slack"])
        if self.program["labels"] is None:
            low, high = target["lower"], target["upper"]
            above = low is None or found[0] + slack >= F(low)
            return above and (high is None or found[0] - slack <= F(high))
        own, margin = place(self.program["labels"], target["label"]), F(target.get("margin", 0))
        leads = ((found[own] - other - margin + slack, rival < own)
                 for rival, other in enumerate(found) if rival != own)  # fmt: skip
        least = target.get("least")
        if least is not None and found[own] + slack < F(least):
            return False
        return all(lead > 0 or (lead == 0 and not strict) for lead, strict in leads)

    def holds(self, truth: list[Any], point: Any) -> bool:
        """Whether a condition is true."""
        kind, *parts = truth
        if kind in ("ge", "gt"):
            z = self.form(parts[0], point)
            return z >= 0 if kind == "ge" else z > 0
        found = [self.holds(part, point) for part in parts]
        return not found[0] if kind == "not" else all(found) if kind == "and" else any(found)

    def is_counterfactual(self, point: Any) -> bool:
        rules = self.content["question"]["constraints"]
        return self.reached(point) and all(self.holds(rule, point) for rule in rules)

    def delta(self, j: int, value: Any) -> F:
        """δ_j."""
        feature, own = self.content["features"][j], self.content["question"]["factual"][j]
        if not feature["labels"]:
            size = F(feature["upper"]) - F(feature["lower"])
            absent = F(feature["absent"]) if "absent" in feature else None
            if (value == absent) != (F(own) == absent):
                return F(1)
            return abs(value - F(own)) / size if size else F(0)
        here, count = place(feature["labels"], own), len(feature["labels"])
        return F(abs(value - here), count - 1) if feature["kind"] == "ordinal" else F(value != here)

    def distance(self, point: Any) -> F:
        """The distance; of l2, its square."""
        weights = [F(feature["weight"]) for feature in self.content["features"]]
        n = {name: F(part) for name, part in self.content["question"]["norms"].items()}
        pairs = [(w, self.delta(j, x)) for j, (w, x) in enumerate(zip(weights, point, strict=True))]
        total = sum(w * (n["l0"] * (d > 0) + n["l1"] * d + n["l2"] * d * d) for w, d in pairs)
        return F(total) / sum(weights) + n["linf"] * max(w * d for w, d in pairs) / max(weights)


@lru_cache(2**16)
def curve(kind: str, z: F) -> F:
    """A smooth function to some 90 places; mpmath knows it, and not the checker.

    Never below 2⁻¹²⁰⁰, which no float tells from 0: fractions of such numbers take long.
    """
    if kind == "softplus" and z > 0:
        return z + curve(kind, -z)
    near = min(max(z, F(-FAR)), F(FAR))  # beyond, the checker refuses exp, and all others are flat
    with mpmath.workprec(400):
        x = mpmath.mpf(near.numerator) / near.denominator
        sign, digits, power, _ = max(CURVES[kind](x), mpmath.mpf(2) ** -1200)._mpf_
        return F(-1 if sign else 1) * F(int(digits)) * F(2) ** power


CURVES = {
    "exp": mpmath.exp,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "normal": mpmath.ncdf,
}


def single(z: F) -> F:
    """The float32 nearest to an exact number, ties to even; once rounded, not twice."""
    near = np.float32(float(z))
    sides = (near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf)))
    return F(float(min(sides, key=lambda s: (abs(F(float(s)) - z), s.view(np.uint32) & 1))))


class Truth:
    """Everything admissible, and what is a counterfactual, nearest first."""

    def __init__(self, content: Content) -> None:
        meaning = self.meaning = Meaning(content)
        self.all = [(meaning.distance(point), point) for point in points(content)]
        self.counterfactuals = sorted(
            (each for each in self.all if meaning.is_counterfactual(each[1])),
            key=lambda each: each[0],
        )
        self.farthest = max(distance for distance, _ in self.all)

    @property
    def optimum(self) -> F | None:
        return self.counterfactuals[0][0] if self.counterfactuals else None


__all__ = ["Content", "Meaning", "Truth", "draw_question", "held", "place", "points", "values"]

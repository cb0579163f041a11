"""The decision: sums of features, trees, and of values made on the way; at every point exact, or
between rationals.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as Q
from typing import Any

from .reader import Clock, Rejected, distinct, listed, members, need, number, small, total, whole
from .smooth import CURVES, value

ZERO, ONE = Q(0), Q(1)
HALF_ULP, LEAST = Q(1, 2**24), Q(1, 2**150)  # of float32: relative, and half of the least number
Form = dict[Any, Q]  # factors of sources
Point = Sequence[Any]  # numbers, and places of labels, by feature
CONSTANT = ("one", 0)
KINDS = ("unit", "step", "single", "form", "product", *CURVES)


def plus(form: Form, other: Form, factor: Q = ONE) -> Form:
    """``form + factor * other``."""
    return add(dict(form), other, factor)


def add(form: Form, other: Form, factor: Q = ONE) -> Form:
    """The same, put into the first form."""
    for source, own in other.items():
        form[source] = small(form.get(source, ZERO) + factor * own)
    return form


def rounded(x: Q, width: int, how: Any = round) -> Q:
    """The nearest float of 4 or 8 bytes, ties to even; or, by floor and ceil, the one beside."""
    bits, least = (24, -149) if width == 4 else (53, -1074)
    exponent = abs(x).numerator.bit_length() - x.denominator.bit_length()
    quantum = Q(2) ** max(exponent - (Q(2) ** exponent > abs(x)) - bits + 1, least)
    result = Q(how(x / quantum) * quantum)
    if abs(result) >= 2 ** (128 if width == 4 else 1024):
        raise Rejected("limits: a number beyond all floats")
    return result


def image(kind: str, z: Q) -> Q:
    """What is made of z: max(z, 0), whether z >= 0, the float32 nearest to z; else z itself."""
    if kind == "single":
        return rounded(z, 4)
    return Q(z >= 0) if kind == "step" else max(z, ZERO) if kind == "unit" else z


def images(kind: str, low: Q, high: Q) -> tuple[Q, Q]:
    """Between which numbers lies what is made of z from low to high: nothing falls as z rises."""
    if kind in CURVES:
        return value(kind, low, False), value(kind, high, True)
    return image(kind, low), image(kind, high)


class Program:
    """Values made on the way, trees, and outputs: one number, or a score for each label.

    A form is a sum of multiples of ``("one", 0)``; ``("x", j)``, a number; ``("is", j, i)``, 1 for
    label i of feature j; ``("tree", n, c)``, column c of trees n; and, of forms made before,
    ``("unit", k)``, the maximum with 0; ``("step", k)``, 1 from 0 on; ``("single", k)``, a float32;
    ``("form", k)``, the form itself; ``("product", k)``, the product of two of these; and smooth
    functions by their names.
    """

    def __init__(self, given: Any, features: Sequence[Any], clock: Clock) -> None:
        made, trees, labels, outputs = members(given, "made trees labels outputs", "program")
        self.features, self.clock, self.used = features, clock, set[tuple[str, int]]()
        self.kinds, self.made, self.trees = list[str](), list[Form](), list[Any]()
        self.tested, self.needs = set[int](), list[int]()  # forms; how many are made before a tree
        for n, ensemble in enumerate(listed(trees, "program.trees")):
            self.trees.append(self.ensemble(ensemble, f"program.trees[{n}]"))
        self.factors = dict[int, tuple[int, int]]()
        for k, entry in enumerate(listed(made, "program.made")):
            where = f"program.made[{k}]"
            kind, *given = listed(entry, where)
            need(kind in KINDS, f"{where}: an unknown kind of source")
            if kind == "product":  # what is said of z is said of the product itself
                i, m = given
                self.form([[["form", i], "1"]], where), self.form([[["form", m], "1"]], where)
                self.factors[k], form = (i, m), {("product", k): ONE}
            else:
                (inner,) = given
                form = self.form(inner, where)
            self.made.append(form)
            self.kinds.append(kind)
        self.form([[["form", k], "1"] for k in self.tested], "program.trees")
        self.labels = None if labels is None else distinct(labels, "program.labels")
        given = enumerate(listed(outputs, "program.outputs"))
        self.outputs = [self.form(form, f"program.outputs[{i}]") for i, form in given]
        count = 1 if self.labels is None else len(self.labels)
        need(len(self.outputs) == count > 0, "program.outputs: not one for each label")

    def form(self, given: Any, where: str) -> Form:
        """A form as it is written; every source exists, and stands once."""
        terms: Form = {}
        for entry in listed(given, where):
            source, factor = listed(entry, where)
            source = tuple(listed(source, where))
            need(self.exists(*source) and source not in terms, f"{where}: source {source!a}")
            self.used.add(source[:2])
            terms[source] = number(factor)
        self.clock.tick()
        return terms

    def exists(self, kind: Any = None, k: Any = -1, *rest: Any) -> bool:
        """Whether a source is there to be read."""
        of = {"tree": self.trees, "x": self.features, "is": self.features, "one": [None]}
        if len(rest) != (kind in ("tree", "is")) or whole(k) >= len(of.get(kind, self.made)):
            return False
        if kind == "x":
            return not self.features[k].labels
        if kind == "tree" and self.needs[k] > len(self.made):
            return False  # it tests what is made later
        if rest:
            columns = self.trees[k][1][-1] if kind == "tree" else self.features[k].labels
            return bool(whole(rest[0]) < len(columns))
        return bool(kind == "one" or self.kinds[k] == kind)

    def ensemble(self, given: Any, where: str) -> tuple[list[int], list[Any]]:
        """Roots and nodes of trees: every node has one parent, or is a root, and lies behind it."""
        roots, nodes = members(given, "roots nodes", where)
        read = [self.node(node, i, where) for i, node in enumerate(listed(nodes, where))]
        forms = [node[0][1] for node in read if type(node) is tuple and type(node[0]) is tuple]
        self.needs.append(max(forms, default=-1) + 1)
        self.tested.update(forms)
        links = [whole(root) for root in listed(roots, where)]
        links += [child for node in read if type(node) is tuple for child in node[2:]]
        need(sorted(links) == list(range(len(read))), f"{where}: nodes are not those of trees")
        widths = {len(node) for node in read if type(node) is list}
        need(len(widths) == 1, f"{where}: leaves of different lengths")
        return links[: len(roots)], read

    def node(self, given: Any, place: int, where: str) -> Any:
        """The values of a leaf, a list; or feature, or form, what goes left, and both children."""
        self.clock.tick()
        is_form = listed(given, where)[0] == "form"
        if not is_form and type(given[0]) is not int:
            return [number(value) for value in given]
        j, test, left, right = given[is_form:]
        if min(whole(left), whole(right)) <= place:
            raise Rejected(f"{where}.nodes[{place}]: a child before its parent")
        goes_left = number(test) if is_form else self.features[whole(j)].test(test)
        return ("form", whole(j)) if is_form else j, goes_left, left, right

    # -- meaning ----------------------------------------------------------------------------------

    def at(self, form: Form, point: Point) -> Q:
        """The value of a form at a point, exact unless it is smooth: then about that."""
        return self.values([form], point)[0]

    def values(self, forms: Sequence[Form], point: Point) -> list[Q]:
        """The same of forms."""
        return [(low + high) / 2 for low, high in self.between(forms, point)]

    def between(self, forms: Sequence[Form], point: Point) -> list[tuple[Q, Q]]:
        """Between which numbers forms lie at a point: the same two unless they are smooth."""
        made = list[tuple[Q, Q]]()
        for k, (kind, form) in enumerate(zip(self.kinds, self.made, strict=True)):
            if kind == "product":
                i, m = self.factors[k]
                ends = [small(u * v) for u in set(made[i]) for v in set(made[m])]
            else:
                ends = [*images(kind, *self._between(form, point, made))]
            made.append((min(ends), max(ends)))
        return [self._between(form, point, made) for form in forms]

    def _between(self, form: Form, point: Point, made: Sequence[tuple[Q, Q]]) -> tuple[Q, Q]:
        """The same of a form, where those made before it are known."""
        self.clock.tick()
        low = high = ZERO
        for (kind, k, *rest), factor in form.items():
            if kind in KINDS:
                ends = made[k]
            elif kind == "tree":
                ends = (total(leaf[rest[0]] for leaf in self.reached(k, point, made)),) * 2
            else:
                own = ONE if kind == "one" else Q(point[k])
                ends = (Q(own == rest[0]) if kind == "is" else own,) * 2
            first, last = (factor * end for end in (ends if factor > 0 else ends[::-1]))
            low, high = small(low + first), small(high + last)
        return low, high

    def reached(self, n: int, point: Point, made: Sequence[tuple[Q, Q]]) -> list[list[Q]]:
        """The leaf of each tree of an ensemble that a point reaches."""
        roots, nodes = self.trees[n]
        leaves = []
        for root in roots:
            while isinstance(node := nodes[root], tuple):
                j, test, *both = node
                low, high = made[j[1]] if isinstance(j, tuple) else (point[j],) * 2
                left = high in test if isinstance(test, frozenset) else high <= test
                need(left or high == low or low > test, "limits: a test of what is too near to it")
                root = both[0 if left else 1]
            leaves.append(node)
        return leaves

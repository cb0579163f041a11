"""Trust regions: what lies within a reach of the convex hull of rows, or of one of several."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction as Q
from typing import Any

from .program import CONSTANT, ONE, Form, Point, add
from .reader import KEPT, MEMORY, listed, members, need, number, size, small, total, whole

FINEST = 2**256  # of the numbers in rows, the least common denominator at most
CELLS = 2**20  # of all rows together
SHAPE = ("name", "kind", "labels", "lower", "upper")  # of a feature, what coordinates depend on
WHERE = "question.region"


class Region:
    """Rows as points z: a number over its range, the place of an ordinal over the last, and of
    other labels whether each is there (of two, the second).  Features that cannot vary are left
    out.

    Attributes:
        axes: The form of each coordinate.
        hulls: The rows of each, numbers multiplied by ``scale``.
        hash: SHA-256 of features and rows as they are written: ``[shape, hulls]`` as JSON with
            sorted keys and no blanks, ``shape`` being ``SHAPE`` of each feature.
    """

    def __init__(self, given: Any, question: Any, features: Any) -> None:
        self.norm, reach, hulls = members(given, "norm reach hulls", WHERE)
        self.reach, self.features, self.clock = number(reach), question.features, question.clock
        need(self.norm in ("l1", "l2", "linf") and self.reach >= 0, f"{WHERE}: norm or reach")
        labels = sum(len(f.labels) for f in self.features)
        need(labels <= KEPT, "limits: too many labels in a trust region")
        gaps = any(f.gap or f.absent is not None for f in self.features)
        need(not gaps, f"{WHERE}: numbers may be missing")
        shape = [[feature[name] for name in SHAPE] for feature in features]
        text = json.dumps([shape, hulls], sort_keys=True, separators=(",", ":"))
        self.hash = hashlib.sha256(text.encode()).hexdigest()
        self.axes = [axis for j in range(len(self.features)) for axis in self._axes(j)]
        cells = sum(map(len, listed(hulls, WHERE))) * len(self.features)
        need(cells <= CELLS, "limits: too many rows in a trust region")
        given = [
            [question.point(row, WHERE) for row in self._ticked(listed(h, WHERE))] for h in hulls
        ]
        need(self.axes and given and all(given), f"{WHERE}: no rows, or nothing varies")
        self.scale = 1
        for x in (x for h in given for row in h for x in row if isinstance(x, Q)):
            self.scale = math.lcm(self.scale, x.denominator)
            need(self.scale <= FINEST, "limits: numbers of rows are too fine")
        self.hulls = [[self._row(row) for row in self._ticked(h)] for h in given]

    def _axes(self, j: int) -> list[Form]:
        f, count = self.features[j], len(self.features[j].labels)
        if not f.size or not count:
            return [{("x", j): ONE / f.size}] if f.size else []
        if f.kind == "ordinal":
            return [{("is", j, i): i / f.size for i in range(1, count)}]
        return [{("is", j, i): ONE} for i in range(count == 2, count)]

    def _ticked(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self.clock.tick()
            yield value

    def _row(self, point: Point) -> tuple[Any, ...]:
        pairs = zip(self.features, point, strict=True)
        return tuple(v if f.labels else int(v * self.scale) for f, v in pairs)

    def worths(self, form: Form, rows: Iterable[Point]) -> list[Any]:
        """What a form of features is at rows, times the scale."""
        numbers, labels = list[tuple[int, Any]](), dict[int, dict[int, Any]]()
        for (kind, j, *rest), factor in form.items():
            if kind == "x":
                numbers.append((j, factor))
            else:
                labels.setdefault(j, {})[rest[0]] = factor * self.scale
        found = []
        for row in self._ticked(rows):
            own = sum(factor * row[j] for j, factor in numbers)
            found.append(own + sum(table.get(row[j], 0) for j, table in labels.items()))
        return found

    def faces(self, given: Any) -> list[tuple[int, Form]]:
        """Hull and form of each face."""
        found, taken = list[tuple[int, Form]](), 0
        for h, normal in listed(given, "proof.faces"):
            found.append((h, self.face(h, normal)))
            taken += sum(map(size, found[-1][1].values()))
            need(taken <= MEMORY // 4, "limits: too many faces of too many coordinates")
        return found

    def face(self, h: Any, normal: Any) -> Form:
        """Lemma 16: ``max a·z_i + reach ||a||_* - a·z``, which is at least 0 within reach of hull h
        for any normal a.
        """
        factors, form = [number(one) for one in listed(normal, "proof.faces")], dict[Any, Q]()
        fits = whole(h) < len(self.hulls) and len(factors) == len(self.axes)
        need(fits, "proof.faces: of no hull, or not a number for each coordinate")
        for factor, axis in zip(factors, self.axes, strict=True):
            add(form, axis, -factor)
        shared = 1
        for factor in self._ticked(form.values()):
            shared = math.lcm(shared, factor.denominator)
            small(Q(1, shared * self.scale))
        long = shared.bit_length() * len(form) > MEMORY
        need(not long, "limits: a face of too many coordinates with too long numbers")
        unit = Q(1, shared * self.scale)
        multiples: Any = {source: int(factor * shared) for source, factor in form.items()}
        least = min(self.worths(multiples, self.hulls[h])) * unit
        return add(form, {CONSTANT: small(self.reach * self._dual(factors) - least)})

    def _dual(self, normal: list[Q]) -> Q:
        """``max a·s`` over ``||s|| <= 1``, of l2 rounded upward."""
        if self.norm == "l2":
            squares = total(a * a for a in self._ticked(normal))
            return Q(math.isqrt(math.ceil(squares * 2**200)) + 1, 2**100)
        return max(map(abs, normal)) if self.norm == "l1" else total(map(abs, self._ticked(normal)))

    def require(self, inside: Any, point: Point) -> None:
        """Lemma 16: a point is within reach of a mean of the rows of a hull, by their weights."""
        h, weights = listed(inside, "proof.inside")
        rows = self.hulls[whole(h)]
        parts = {whole(i): number(w) for i, w in listed(weights, "proof.inside")}
        need(len(parts) == len(weights) and min(parts.values()) > 0, "proof.inside: weights")
        every, here = total(parts.values()), list(point)
        for j, f in enumerate(self.features):
            here[j] = point[j] if f.labels else point[j] * self.scale
        away = []
        for axis in self.axes:
            (own,), each = self.worths(axis, [here]), self.worths(axis, [rows[i] for i in parts])
            pairs = self._ticked(zip(parts.values(), each, strict=True))
            mean = total(w * z for w, z in pairs) / every
            away.append(small(abs(mean - own) / self.scale))
        if self.norm == "l2":
            near = total(s * s for s in away) <= self.reach**2
        else:
            near = (total(away) if self.norm == "l1" else max(away)) <= self.reach
        need(near, "witness: it lies beyond the trust region, or its weights do not show otherwise")

"""Tree ensembles: one op for the whole ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Ints
from ...errors import VerificationError
from ..interval import Bounds, Interval, sum_above, sum_below
from ..op import Op, Operand, Value, register, require
from ..sorts import REAL, Sort
from ..tensor import Tensor
from .structure import interval_of

_WHOLE = 2**53  # doubles hold all whole numbers up to here, and these over small powers of 2
_POWERS = frozenset(2**k for k in range(64))


@register("tree_ensemble")
class TreeEnsemble(Op):
    """``y = base + sum_t value[leaf_t(x)]`` over binary trees on a vector x.

    Nodes of all trees share the arrays.  Node i is a leaf when ``feature[i] < 0``; otherwise
    x goes to ``left[i]`` if ``x[feature[i]] <= threshold[i]`` and to ``right[i]`` if not.  Children
    come after their parent.  Shapes: ``roots`` (T,); ``feature``, ``threshold``, ``left``,
    ``right`` (N,); ``value`` (N, K), zero on inner nodes; ``base`` (K,); result Real (K,).
    """

    x: Operand
    roots: Tensor
    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    base: Tensor

    def sort(self, *operands: Sort) -> Sort:
        (x,) = operands
        require(x.is_numeric and len(x.shape) == 1, f"tree_ensemble needs a vector, not {x}")
        require(self._columns <= x.shape[0], "tree_ensemble: feature index out of range")
        return REAL.with_shape(self.base.shape)

    @cached_property
    def _columns(self) -> int:
        """How many columns the trees read at least, once their arrays are checked."""
        nodes = (self.feature, self.left, self.right)
        require(
            all(field.dtype == "i64" and len(field.shape) == 1 for field in (*nodes, self.roots)),
            "tree_ensemble: roots, feature, left and right are vectors of integers",
        )
        numeric = "bool" not in {field.kind for field in (self.threshold, self.value, self.base)}
        require(numeric, "tree_ensemble: threshold, value and base are numbers")
        count = self.feature.array.size
        for field in (*nodes, self.threshold):
            require(field.shape == (count,), "tree_ensemble: node arrays differ in length")
        require(
            len(self.value.shape) == 2 and self.value.shape[0] == count,
            "tree_ensemble: one row of values per node",
        )
        require(self.base.shape == self.value.shape[1:], "tree_ensemble: base does not fit value")
        feature, own = self.feature.array, np.arange(count)
        inner = feature >= 0
        for child in (self.left.array, self.right.array):
            require(
                bool(((child > own) & (child < count))[inner].all()),
                "tree_ensemble: a child must come after its parent",
            )
        roots = self.roots.array
        require(bool(((roots >= 0) & (roots < count)).all()), "tree_ensemble: root out of range")
        return int(feature.max(initial=-1)) + 1

    def evaluate(self, *values: Value) -> Value:
        leaves: Sequence[int] | Ints | None = self._leaves_of_floats(values[0])
        if leaves is None:
            leaves = [self._leaf(root, values[0]) for root in self.roots.array.tolist()]
        return self.base.exact() + self.value.exact_sum(leaves)

    def _leaves_of_floats(self, x: Value) -> Ints | None:
        """The leaves, where all numbers are doubles, which compare exactly; else ``None``."""
        known = [_float(value) for value in x]
        if self.threshold.dtype != "f64" or None in known:
            return None
        numbers = np.array(known, dtype=np.float64)
        nodes = self.roots.array.copy()
        going = np.flatnonzero(self.feature.array[nodes] >= 0)
        while going.size:
            here = nodes[going]
            goes_left = numbers[self.feature.array[here]] <= self.threshold.array[here]
            here = np.where(goes_left, self.left.array[here], self.right.array[here])
            nodes[going] = here
            going = going[self.feature.array[here] >= 0]
        return nodes

    def _leaf(self, root: int, x: Value) -> int:
        """The leaf of one tree, by comparing rationals."""
        node, feature, threshold = root, self.feature.array, self.threshold.array
        while (column := feature[node]) >= 0:
            below = x[column] <= _scalar(threshold[node])
            node = int(self.left.array[node] if below else self.right.array[node])
        return node

    def interval(self, *bounds: Bounds) -> Bounds:
        reached = self.reachable(interval_of(bounds[0]))
        inner = self.feature.array >= 0
        values = Interval.constant(self.value.array)
        none = (inner | ~reached)[:, None]
        lower, upper = np.where(none, np.inf, values.lower), np.where(none, -np.inf, values.upper)
        left, right = self.left.array, self.right.array
        for nodes in reversed(self.levels()):
            lower[nodes] = np.minimum(lower[left[nodes]], lower[right[nodes]])
            upper[nodes] = np.maximum(upper[left[nodes]], upper[right[nodes]])
        base, roots = Interval.constant(self.base.array), self.roots.array
        low, high = lower[roots], upper[roots]
        return Interval(
            sum_below(np.concatenate([base.lower[None], low])),
            sum_above(np.concatenate([base.upper[None], high])),
        )

    def levels(self) -> list[Ints]:
        """The inner nodes, level by level from the roots."""
        found, nodes = [], self.roots.array
        while (inner := nodes[self.feature.array[nodes] >= 0]).size:
            found.append(inner)
            nodes = np.concatenate([self.left.array[inner], self.right.array[inner]])
        return found

    def reachable(self, x: Interval) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which nodes (N,) some point of the enclosure can reach, each split taken alone."""
        feature, threshold = self.feature.array, self.threshold
        bounds = Interval.constant(threshold.array)
        reached = np.zeros(feature.size, dtype=np.bool_)
        reached[self.roots.array] = True
        column = np.maximum(feature, 0)
        inner = feature >= 0
        if not x.lower.size and inner.any():
            raise VerificationError("tree_ensemble: no features")
        goes_left = inner & (x.lower[column] <= bounds.upper) if x.lower.size else inner
        goes_right = inner & (x.upper[column] > bounds.lower) if x.lower.size else inner
        left, right = self.left.array, self.right.array
        frontier = self.roots.array
        while frontier.size:
            children = np.concatenate(
                [left[frontier[goes_left[frontier]]], right[frontier[goes_right[frontier]]]]
            )
            reached[children] = True
            frontier = children
        return reached


def _scalar(value: Any) -> Any:
    """A threshold as a Python number; comparing Fractions with floats is exact."""
    return value.item() if isinstance(value, np.generic) else value


def _float(value: Any) -> float | None:
    """A number as a double if it is one."""
    above, below = value.as_integer_ratio()
    if abs(above) <= _WHOLE and below in _POWERS:
        return float(above / below)
    try:
        near = float(value)
    except OverflowError:
        return None
    return near if near == value else None

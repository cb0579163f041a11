"""The search itself: depth-first over boxes of cells, compiled, resumable.

A box is closed once its nearest point lies beyond the radius, the constraints fail all over it, or
the largest sums that its leaves allow miss what some requirement needs.  What is left is split on
the cut that strong branching likes best, nearer half first.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
import numpy as np

from .bounds import drop_leaves, holds_at_point, misses, misses_when_sharing
from .boxes import confine, edge, halve, meet_labels, narrow, nearest
from .branching import forget, strongest, weigh
from .logic import CONSTANT, truth
from .ramps import decides_at_point, misses_on_ramps, part_from_aim
from .state import (
    AIM,
    ALONE,
    BOXES,
    BY_CONSTRAINT,
    BY_DISTANCE,
    BY_SHARING,
    BY_SUM,
    CLOSED,
    CLOSED_BY,
    DECIDING,
    DEPTH,
    DONE,
    FULL,
    KEEP,
    LIMIT,
    LOOKS,
    NEARER,
    OPEN,
    PAUSE,
    POINT,
    RADIUS,
    SPLIT,
)  # fmt: skip


@numba.njit(nogil=True)
def _run(tables: Any, logic: Any, state: Any, log: Any) -> Any:
    """Go on until nothing is open, a point holds, or the limit of boxes is reached."""
    control, phase = state.control, state.phase
    while control[DEPTH] >= 0:
        d = control[DEPTH]
        if phase[d] == CLOSED:
            control[DEPTH] -= 1
        elif phase[d] == OPEN:
            if control[LOOKS] >= control[LIMIT]:
                return PAUSE
            if d + 2 >= phase.size or control[BOXES] + 2 >= log.parent.size:
                return FULL
            control[LOOKS] += 1
            verdict = _look(tables, logic, state, d)
            if verdict in (POINT, ALONE, AIM):
                return verdict
            phase[d] = CLOSED if control[CLOSED_BY] else NEARER
            _write(state, log, d)
        else:
            _descend(tables, state, log, d)
    return DONE


@numba.njit(nogil=True)
def _write(state: Any, log: Any, d: Any) -> None:
    """Log what became of the box at level d."""
    box, control = state.box[d], state.control
    log.fate[box], log.radius[box] = control[CLOSED_BY], control[RADIUS]
    if control[CLOSED_BY] == SPLIT:
        log.what[box], log.where[box] = state.cut[d, 0], state.cut[d, 1]
    else:
        log.what[box], log.where[box] = control[DECIDING], 0


@numba.njit(nogil=True)
def _look(tables: Any, logic: Any, state: Any, d: Any) -> Any:
    """Close the box at level d, find that its nearest point holds, or choose how to split it."""
    control = state.control
    control[CLOSED_BY] = SPLIT
    radius = control[RADIUS]
    spent, top, second, which = nearest(tables, state, d)
    if spent + top > radius:
        control[CLOSED_BY] = BY_DISTANCE
        return DONE
    narrow(tables, state, d, radius, spent, top, second, which)
    admitted = _admitted(tables, logic, state, d)
    if admitted == 0:
        control[CLOSED_BY] = BY_CONSTRAINT
        return DONE
    if logic.cap >= 0 and confine(tables, logic, state, d):
        return DONE
    if misses(tables, state, state.reach[d]):
        control[CLOSED_BY] = BY_SUM
        return DONE
    drop_leaves(tables, state, d, radius, spent, top)
    if misses(tables, state, state.reach[d]):
        control[CLOSED_BY] = BY_SUM
        return DONE
    holds = holds_at_point(tables, state, d)
    if tables.ramps.first >= 0:
        if misses_on_ramps(tables, state, d, radius, spent, top):
            control[CLOSED_BY] = BY_SHARING
            return DONE
        if decides_at_point(tables, state, d) or (holds and state.forced[d]):
            if part_from_aim(tables, state, d):
                return DONE
            return ALONE if state.forced[d] else AIM
    if holds:
        if not state.forced[d] and (admitted == 2 or _admitted_point(tables, logic, state) > 0):
            return POINT
        return DONE if halve(tables, logic, state, d, admitted) else ALONE
    count = weigh(tables, state, d)
    if misses_when_sharing(tables, state, d, radius - spent - top):
        forget(state, count)
        control[CLOSED_BY] = BY_SHARING
        return DONE
    chosen = strongest(tables, state, d, count, radius - spent - top)
    forget(state, count)
    if chosen and logic.cap >= 0:
        edge(tables, logic, state, d)
    return DONE if chosen or halve(tables, logic, state, d, 2) else ALONE


@numba.njit(nogil=True)
def _admitted(tables: Any, logic: Any, state: Any, d: Any) -> Any:
    """What the constraints say of the box: 0 no point, 2 every point, 1 some perhaps."""
    if logic.kind.size == 1 and logic.kind[0] == CONSTANT:
        return int(2 * logic.low[0])
    return truth(
        logic, tables.start, tables.least, tables.largest, state.first[d], state.last[d],
        state.labels[d], state.lower, state.upper,
    )  # fmt: skip


@numba.njit(nogil=True)
def _admitted_point(tables: Any, logic: Any, state: Any) -> Any:
    """What they say of its nearest point."""
    state.single[:] = np.uint64(0)
    for j in range(tables.home.size):
        if tables.symbolic[j]:
            code = state.point[j]
            state.single[j, code // 64] = np.uint64(1) << np.uint64(code % 64)
    return truth(
        logic, tables.start, tables.point, tables.point, state.point, state.point, state.single,
        state.lower, state.upper,
    )  # fmt: skip


@numba.njit(nogil=True)
def _descend(tables: Any, state: Any, log: Any, d: Any) -> None:
    """Open the side of the split at level d whose turn it is."""
    j, cell = state.cut[d, 0], state.cut[d, 1]
    nearer, e = state.phase[d] == NEARER, d + 1
    point = min(max(tables.home[j], state.first[d, j]), state.last[d, j])
    lower = nearer if tables.symbolic[j] else (point <= cell) == nearer
    _enter(tables, state, d, lower)
    state.phase[d] += 1
    state.phase[e], state.forced[e] = OPEN, nearer and state.forced[d]
    box = state.control[BOXES]
    state.box[e], log.parent[box], log.side[box] = box, state.box[d], not lower
    state.control[BOXES] += 1
    state.control[DEPTH] = e


@numba.njit(nogil=True)
def _enter(tables: Any, state: Any, d: Any, lower: Any) -> None:
    """Put one side of the split at level d on the level below: lower cells or the label, or not."""
    e, j, cell = d + 1, state.cut[d, 0], state.cut[d, 1]
    state.first[e], state.last[e] = state.first[d], state.last[d]
    state.labels[e] = state.labels[d]
    state.reach[e] = state.reach[d]
    begin, reach = tables.start[j], state.reach[e]
    if tables.symbolic[j]:
        bit = np.uint64(1) << np.uint64(cell % 64)
        if lower:
            state.labels[e, j, :] = np.uint64(0)
            state.labels[e, j, cell // 64] = bit
        else:
            state.labels[e, j, cell // 64] &= ~bit
        meet_labels(tables, state, e, j)
        return
    if lower:
        state.last[e, j] = cell
        row = tables.upto[begin + cell]
    else:
        state.first[e, j] = cell + 1
        row = tables.since[begin + cell + 1]
    for w in range(reach.size):
        reach[w] &= row[w]


@numba.njit(nogil=True)
def _hand_over(tables: Any, state: Any, d: Any, other: Any) -> Any:
    """Put the side of the split at level d that is still to come on another stack, alone.

    Returns whether it is the lower side.
    """
    j, cell = state.cut[d, 0], state.cut[d, 1]
    point = min(max(tables.home[j], state.first[d, j]), state.last[d, j])
    lower = not tables.symbolic[j] and point > cell
    other.first[0], other.last[0] = state.first[d], state.last[d]
    other.labels[0], other.reach[0] = state.labels[d], state.reach[d]
    other.cut[0] = state.cut[d]
    _enter(tables, other, 0, lower)
    other.first[0], other.last[0] = other.first[1], other.last[1]
    other.labels[0], other.reach[0] = other.labels[1], other.reach[1]
    other.control[RADIUS] = state.control[RADIUS]
    state.phase[d] = CLOSED
    return lower


@numba.njit(nogil=True)
def _retrace(tables: Any, logic: Any, state: Any, cuts: Any, sides: Any, radii: Any) -> None:
    """Look again at the boxes of a path (n,) from the root, to see how its last was closed."""
    for d in range(radii.size):
        state.control[RADIUS] = radii[d]
        state.control[KEEP] = d == radii.size - 1
        _look(tables, logic, state, d)
        if d < cuts.shape[0]:
            state.cut[d] = cuts[d]
            _enter(tables, state, d, sides[d] == 0)


def version(folder: Path) -> int:
    """A number made of the sources that the compiled kernel consists of.

    Numba keeps compiled code for as long as the file of the function itself stays the same, and
    would go on using old bounds after an update of another file.
    """
    texts = (path.read_bytes() for path in sorted(folder.glob("*.py")))
    return int.from_bytes(sha256(b"".join(texts)).digest()[:6])


def _entries(stamp: int) -> tuple[Any, Any, Any]:
    """The functions to call: compiled code is kept for one ``stamp``, a part of its key."""

    @numba.njit(cache=True, nogil=True)
    def run(tables: Any, logic: Any, state: Any, log: Any) -> Any:
        """Go on until nothing is open, a point holds, or the limit of boxes is reached."""
        return _run(tables, logic, state, log) if stamp else DONE

    @numba.njit(cache=True, nogil=True)
    def retrace(tables: Any, logic: Any, state: Any, cuts: Any, sides: Any, radii: Any) -> None:
        """Look again at the boxes of a path (n,) from the root, to see how its last was closed."""
        if stamp:
            _retrace(tables, logic, state, cuts, sides, radii)

    @numba.njit(cache=True, nogil=True)
    def hand_over(tables: Any, state: Any, d: Any, other: Any) -> Any:
        """Put the side of the split at level d that is still to come on another stack, alone."""
        return _hand_over(tables, state, d, other) if stamp else False

    return run, retrace, hand_over


run, retrace, hand_over = _entries(version(Path(__file__).parent))

__all__ = ["hand_over", "retrace", "run", "version"]

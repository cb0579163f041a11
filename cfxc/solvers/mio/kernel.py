"""The inner loop of the region search: one box of columns bounded, narrowed and split.

Columns are ``n`` base columns followed by ``K`` units ``h_k = max(z_k, 0)``, z_k affine in base
columns and earlier units.  ``plain`` rows have no units: they and the budget narrow a box; the
other ``rows`` refute it under the linear relaxation of the units.  All bounds carry a bound on
their own rounding, so that a box is closed only if no point of it, in exact arithmetic, satisfies
the rows within the budget.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

EPS = 2.0**-50  # four units of rounding per operation
ROUNDS = 2  # of narrowing
HALVINGS = 10  # of the range of the budget's multiplier; it need not be the best
CLOSED, OPEN, POINT = 0, 1, 2


@numba.njit(cache=True)
def narrow(
    low: Any, high: Any, whole: Any, cost: Any, radius: float, group: Any, members: Any,
    partner: Any, plain: Any, plain_low: Any, plain_high: Any,
) -> float:  # fmt: skip
    """Shrink a box (in place) to what plain rows and the budget leave; what its points cost.

    Returns a lower bound of the cost, infinity if nothing is left.
    """
    least = 0.0
    for _ in range(ROUNDS):
        if not _propagate(low, high, whole, plain, plain_low, plain_high):
            return np.inf
        least = _afford(low, high, whole, cost, radius, group, members, partner)
        if least == np.inf:
            return np.inf
    return least


@numba.njit(cache=True)
def _propagate(
    low: Any, high: Any, whole: Any, plain: Any, plain_low: Any, plain_high: Any
) -> bool:
    """Each column within what a row leaves it, with the others at their best; whether it can be."""
    n = low.size
    for r in range(plain.shape[0]):
        for side in range(2):
            end = plain_low[r] if side == 0 else -plain_high[r]
            if not np.isfinite(end):
                continue
            sign = 1.0 if side == 0 else -1.0
            most, size = 0.0, abs(end)
            for j in range(n):
                factor = sign * plain[r, j]
                share = factor * (high[j] if factor > 0 else low[j])
                most += share
                size += abs(factor) * max(abs(low[j]), abs(high[j]))
            slack = EPS * (n + 8) * size
            room = most - end + slack
            if room < 0:
                return False
            for j in range(n):
                factor = sign * plain[r, j]
                if factor == 0.0 or high[j] <= low[j]:
                    continue
                step = room / abs(factor) * (1 + 16 * EPS)
                if step >= high[j] - low[j]:
                    continue
                if factor > 0:
                    bound = high[j] - step
                    bound -= abs(bound) * 4 * EPS + abs(high[j]) * 4 * EPS
                    low[j] = max(low[j], np.ceil(bound - 1e-9) if whole[j] else bound)
                else:
                    bound = low[j] + step
                    bound += abs(bound) * 4 * EPS + abs(low[j]) * 4 * EPS
                    high[j] = min(high[j], np.floor(bound + 1e-9) if whole[j] else bound)
    return True


@numba.njit(cache=True)
def _afford(
    low: Any, high: Any, whole: Any, cost: Any, radius: float, group: Any, members: Any,
    partner: Any,
) -> float:  # fmt: skip
    """The budget's share of :func:`narrow`."""
    n, least, size = low.size, 0.0, 0.0
    for j in range(n):
        if partner[j] >= 0 and low[j] > 0:
            high[partner[j]] = 0.0
        if low[j] > high[j]:
            return np.inf
        if group[j] < 0:
            least += min(cost[j] * low[j], cost[j] * high[j])
            size += abs(cost[j]) * max(abs(low[j]), abs(high[j]))
    cheapest = np.empty(members.shape[0])
    for g in range(members.shape[0]):
        best, demanded, count, last = np.inf, -1, 0, -1
        for i in range(members.shape[1]):
            j = members[g, i]
            if j >= 0 and high[j] > 0:
                count += 1
                last = j
                best = min(best, cost[j])
                if low[j] > 0:  # a row demands this label
                    demanded = j
        if demanded >= 0:
            best = cost[demanded]
            for i in range(members.shape[1]):
                j = members[g, i]
                if j >= 0 and j != demanded:
                    high[j] = 0.0
        if best == np.inf:
            return np.inf
        if count == 1:
            low[last] = 1.0
        cheapest[g] = best
        least += best
        size += abs(best)
    slack = EPS * (n + 8) * (size + abs(radius))
    left = radius - least + slack
    if left < 0:
        return np.inf
    for j in range(n):
        if group[j] >= 0:
            if high[j] > 0 and cost[j] - cheapest[group[j]] > left:
                high[j] = 0.0
        elif cost[j] > 0 and high[j] > low[j]:
            reach = left / cost[j] * (1 + 16 * EPS)
            most = low[j] + reach
            most += abs(most) * 4 * EPS
            if whole[j]:
                most = np.floor(most + 1e-9)
            high[j] = min(high[j], most)
    cheap: float = least - slack
    return cheap


@numba.njit(cache=True)
def above(
    form: Any, constant: float, depth: int, n: int, z: Any, z0: Any, deep: Any, state: Any,
    slope: Any, offset: Any, tilt: Any, top: Any, low: Any, high: Any, cost: Any, radius: float,
    group: Any, members: Any, rest: Any, weight: Any, gaps: Any,
) -> float:  # fmt: skip
    """An upper bound of ``form`` over a box, by back-substitution through units below ``depth``.

    Leaves the form over base columns, less what the budget takes, in ``rest``, and in ``gaps``
    how much the open units may have cost.
    """
    for i in range(n + depth):
        rest[i] = form[i]
        weight[i] = abs(form[i])
    slack, operations = abs(constant), n + 16
    for k in range(depth - 1, -1, -1):
        factor = rest[n + k]
        gaps[k] = 0.0
        slack += weight[n + k] * top[k]
        if factor == 0.0 or state[k] < 0:
            continue
        operations += 4
        shift = 0.0
        if state[k] > 0:
            part = factor
        elif factor > 0:
            part = factor * slope[k]
            shift = factor * offset[k]
            gaps[k] = shift
        else:
            part = factor * tilt[k]
            gaps[k] = -factor * (top[k] if tilt[k] == 0 else offset[k])
        constant += part * z0[k] + shift
        slack += abs(part * z0[k]) + abs(shift)
        if part == 0.0:
            continue
        last = n + k if deep[k] else n
        for i in range(last):
            value = part * z[k, i]
            rest[i] += value
            weight[i] += abs(value)
    multiplier = _multiplier(rest, low, high, cost, radius, group, members, n)
    total = constant + multiplier * radius
    slack += multiplier * abs(radius)
    for j in range(n):
        if multiplier > 0:
            rest[j] -= multiplier * cost[j]
            weight[j] += multiplier * abs(cost[j])
        slack += weight[j] * max(abs(low[j]), abs(high[j]))
        if group[j] < 0:
            total += rest[j] * (high[j] if rest[j] > 0 else low[j])
    for g in range(members.shape[0]):
        best = -np.inf
        for i in range(members.shape[1]):
            j = members[g, i]
            if j >= 0 and high[j] > 0:
                best = max(best, rest[j])
        total += best
    return total + operations * EPS * slack + 1e-300


@numba.njit(cache=True)
def _multiplier(
    rest: Any, low: Any, high: Any, cost: Any, radius: float, group: Any, members: Any, n: int
) -> float:
    """About the best multiplier of the budget: 0 if the largest point can be paid for."""
    if _spent(rest, 0.0, low, high, cost, group, members, n) <= radius:
        return 0.0
    bottom, top = 0.0, 0.0
    for j in range(n):
        if cost[j] != 0.0 and high[j] > low[j]:
            top = max(top, abs(rest[j] / cost[j]))
    top *= 1.001
    for _ in range(HALVINGS):
        middle = (bottom + top) / 2
        if _spent(rest, middle, low, high, cost, group, members, n) > radius:
            bottom = middle
        else:
            top = middle
    return top


@numba.njit(cache=True)
def _spent(
    rest: Any, multiplier: float, low: Any, high: Any, cost: Any, group: Any, members: Any, n: int
) -> float:
    """What the point costs where ``rest - multiplier * cost`` is largest."""
    total = 0.0
    for j in range(n):
        if group[j] < 0 and cost[j] != 0.0:
            total += cost[j] * (high[j] if rest[j] > multiplier * cost[j] else low[j])
    for g in range(members.shape[0]):
        best, paid = -np.inf, 0.0
        for i in range(members.shape[1]):
            j = members[g, i]
            if j >= 0 and high[j] > 0:
                value = rest[j] - multiplier * cost[j]
                if value > best:
                    best, paid = value, cost[j]
        total += paid
    return total


@numba.njit(cache=True)
def bound(
    low: Any, high: Any, n: int, z: Any, z0: Any, deep: Any, root: Any, rows: Any, row_low: Any,
    row_high: Any, cost: Any, radius: float, group: Any, members: Any, reach: Any, spread: Any,
    corner: Any,
) -> bool:  # fmt: skip
    """Whether some row cannot hold in a box; else ``spread`` says how much each column matters.

    ``root`` (2, K) bounds z everywhere; ``reach`` (K, n) is how strongly base columns act on each
    unit.  ``corner`` gets the point where the tightest row is largest.
    """
    units, width = z0.size, z.shape[1]
    state, slope = np.zeros(units, dtype=np.int64), np.zeros(units)
    offset, tilt, top = np.zeros(units), np.zeros(units), np.zeros(units)
    rest, weight, gaps = np.empty(width), np.empty(width), np.zeros(units)
    form = np.empty(width)
    for k in range(units):
        depth = k if deep[k] else 0
        upper = above(
            z[k], z0[k], depth, n, z, z0, deep, state, slope, offset, tilt, top, low, high, cost,
            radius, group, members, rest, weight, gaps,
        )  # fmt: skip
        upper = min(upper, root[1, k])
        if upper <= 0:
            state[k] = -1
            continue
        for i in range(n + depth):
            form[i] = -z[k, i]
        lower = -above(
            form, -z0[k], depth, n, z, z0, deep, state, slope, offset, tilt, top, low, high, cost,
            radius, group, members, rest, weight, gaps,
        )  # fmt: skip
        lower = max(lower, root[0, k])
        top[k] = upper
        if lower >= 0:
            state[k] = 1
            continue
        steep = upper / (upper - lower)
        slope[k] = steep
        offset[k] = max(-steep * lower, upper - steep * upper) + 8 * EPS * upper
        tilt[k] = 1.0 if upper > -lower else 0.0
    spread[:] = 0.0
    tightest = np.inf
    for r in range(rows.shape[0]):
        for side in range(2):
            end = row_low[r] if side == 0 else -row_high[r]
            if not np.isfinite(end):
                continue
            for i in range(width):
                form[i] = rows[r, i] if side == 0 else -rows[r, i]
            most = above(
                form, 0.0, units, n, z, z0, deep, state, slope, offset, tilt, top, low, high,
                cost, radius, group, members, rest, weight, gaps,
            )  # fmt: skip
            if most < end:
                return True
            room = most - end
            if room < tightest:
                tightest = room
                _aim(n, units, gaps, reach, rest, low, high, group, members, spread, corner)
    return False


@numba.njit(cache=True)
def _aim(
    n: int, units: int, gaps: Any, reach: Any, rest: Any, low: Any, high: Any, group: Any,
    members: Any, spread: Any, corner: Any,
) -> None:  # fmt: skip
    """Shares of the columns in the looseness of a bound, and its largest point."""
    spread[:] = 0.0
    for k in range(units):
        if gaps[k] <= 0.0:
            continue
        total = 0.0
        for j in range(n):
            total += reach[k, j] * (high[j] - low[j])
        if total > 0.0:
            for j in range(n):
                spread[j] += gaps[k] * reach[k, j] * (high[j] - low[j]) / total
    for j in range(n):
        spread[j] += 1e-3 * abs(rest[j]) * (high[j] - low[j])
        if group[j] < 0:
            corner[j] = high[j] if rest[j] > 0 else low[j]
        else:
            corner[j] = 0.0
    for g in range(members.shape[0]):
        best, at = -np.inf, -1
        for i in range(members.shape[1]):
            j = members[g, i]
            if j >= 0 and high[j] > 0 and rest[j] > best:
                best, at = rest[j], j
        corner[at] = 1.0


@numba.njit(cache=True)
def holds(point: Any, n: int, z: Any, z0: Any, rows: Any, row_low: Any, row_high: Any) -> bool:
    """Whether a point of base columns satisfies the rows, as doubles see it."""
    units, width = z0.size, z.shape[1]
    full = np.zeros(width)
    full[:n] = point
    for k in range(units):
        value = z0[k]
        for i in range(n + k):
            value += z[k, i] * full[i]
        full[n + k] = max(value, 0.0)
    for r in range(rows.shape[0]):
        value = 0.0
        for i in range(width):
            value += rows[r, i] * full[i]
        if value < row_low[r] or value > row_high[r]:
            return False
    return True


@numba.njit(cache=True)
def step(
    lows: Any, highs: Any, whole: Any, named: Any, n: int, z: Any, z0: Any, deep: Any, root: Any,
    rows: Any, row_low: Any, row_high: Any, plain: Any, plain_low: Any, plain_high: Any,
    cost: Any, radius: float, group: Any, members: Any, partner: Any, reach: Any, fine: Any,
) -> Any:  # fmt: skip
    """Process a batch of boxes: children with what they cost, points to try, points to decide.

    ``named`` columns determine the point, ``fine`` is how narrow each has to be: a box with all of
    them so narrow is left to exact arithmetic, with what it costs.
    """
    batch = lows.shape[0]
    out_low, out_high = np.empty((2 * batch, n)), np.empty((2 * batch, n))
    keys = np.empty(2 * batch)
    tries, decided, paid = np.empty((batch, n)), np.empty((batch, n)), np.empty(batch)
    children, tried, fixed = 0, 0, 0
    spread, corner = np.zeros(n), np.zeros(n)
    for b in range(batch):
        low, high = lows[b], highs[b]
        left = narrow(
            low, high, whole, cost, radius, group, members, partner, plain, plain_low, plain_high
        )  # fmt: skip
        if left == np.inf:
            continue
        corner[:] = low
        if bound(
            low, high, n, z, z0, deep, root, rows, row_low, row_high, cost, radius, group,
            members, reach, spread, corner,
        ):  # fmt: skip
            continue
        j = _widest(low, high, fine, named, spread, group, members)
        if j < 0:
            decided[fixed], paid[fixed] = _only(low, high, group, members), left
            fixed += 1
            continue
        low_point, high_point = low.copy(), high.copy()
        for i in range(n):
            if named[i]:
                low_point[i] = high_point[i] = corner[i]
        rest = narrow(
            low_point, high_point, whole, cost, radius, group, members, partner, plain,
            plain_low, plain_high,
        )  # fmt: skip
        if rest < np.inf and holds(low_point, n, z, z0, rows, row_low, row_high):
            tries[tried] = low_point
            tried += 1
        for side in range(2):
            out_low[children], out_high[children] = low, high
            _split(
                j, side, out_low[children], out_high[children], whole, group, members, partner,
                corner,
            )  # fmt: skip
            key = narrow(
                out_low[children], out_high[children], whole, cost, radius, group, members,
                partner, plain, plain_low, plain_high,
            )  # fmt: skip
            if key < np.inf:
                keys[children] = key
                children += 1
    return (
        out_low[:children], out_high[:children], keys[:children], tries[:tried], decided[:fixed],
        paid[:fixed],
    )  # fmt: skip


@numba.njit(cache=True)
def _widest(
    low: Any, high: Any, fine: Any, named: Any, spread: Any, group: Any, members: Any
) -> int:
    """The column to split: of a group, some label of it; -1 if the point is determined."""
    best, at = -1.0, -1
    for j in range(low.size):
        if group[j] < 0 and named[j] and high[j] - low[j] > fine[j] and spread[j] > best:
            best, at = spread[j], j
    for g in range(members.shape[0]):
        total, count, first = 0.0, 0, -1
        for i in range(members.shape[1]):
            j = members[g, i]
            if j >= 0 and high[j] > 0:
                total += spread[j]
                count += 1
                first = j
        if count > 1 and total > best:
            best, at = total, first
    return at


@numba.njit(cache=True)
def _split(
    j: int, side: int, low: Any, high: Any, whole: Any, group: Any, members: Any, partner: Any,
    corner: Any,
) -> None:  # fmt: skip
    """Narrow a box to one side of a split."""
    if group[j] >= 0:
        chosen = j
        for i in range(members.shape[1]):
            k = members[group[j], i]
            if k >= 0 and high[k] > 0 and corner[k] == 1.0:
                chosen = k
        for i in range(members.shape[1]):
            k = members[group[j], i]
            if k >= 0 and (k == chosen) == (side == 1):
                high[k] = 0.0
        return
    other = partner[j]
    if other >= 0 and low[j] == 0.0 and high[other] > 0.0:  # up or down first
        if side == 0:
            high[other] = 0.0
        else:
            high[j] = 0.0
            if whole[other]:
                low[other] = max(low[other], 1.0)
        return
    middle = (low[j] + high[j]) / 2
    if side == 0:
        high[j] = np.floor(middle) if whole[j] else middle
    else:
        low[j] = np.floor(middle) + 1.0 if whole[j] else middle


@numba.njit(cache=True)
def _only(low: Any, high: Any, group: Any, members: Any) -> Any:
    """The point of a box whose named columns are fixed."""
    point = low.copy()
    for g in range(members.shape[0]):
        for i in range(members.shape[1]):
            j = members[g, i]
            if j >= 0 and high[j] > 0:
                point[j] = 1.0
    return point

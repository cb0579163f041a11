"""Charts: bounds over time, distance against the number of changes, costs of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import Floats
from .plots import (
    BLACK,
    BLUE,
    COLOURS,
    INK,
    LETTER,
    LINES,
    MARKERS,
    ORANGE,
    PALE,
    PALER,
    SMALL,
    VERMILLION,
    axes_for,
    in_lines,
    saved,
)

SLOW = 100.0  # times as long as until its first news: time is then on a logarithmic scale
GROUP = 26  # letters of a group's name on a line
JITTER = 0.13


def draw_bounds(trace: Floats, distance: str, ax: Any, path: Any) -> Any:
    """Two stairs that close in on the optimum.

    Args:
        trace: Rows (n, 3) of seconds, lower bound, and upper one, NaN before there is a point.
    """
    seconds, lower, upper = trace.T
    axes = axes_for("plotting bounds", ax, path=path, size=(5.2, 3.2))
    found = ~np.isnan(upper)
    axes.fill_between(
        seconds[found], lower[found], upper[found], step="post", color=PALER, lw=0, zorder=0
    )
    axes.step(
        seconds[found], upper[found], where="post", color=BLUE, lw=1.6, marker="o", ms=4,
        markevery=_turns(upper[found]), label="nearest found",
    )  # fmt: skip
    axes.step(
        seconds, lower, where="post", color=VERMILLION, lw=1.6, ls="--", marker="^", ms=4,
        markevery=_turns(lower), label="lower bound: nothing below",
    )  # fmt: skip
    if found.sum() < 2:
        axes.text(
            0.5, 0.5, _at_once(seconds[-1], lower[-1], upper[-1]), ha="center", va="center",
            fontsize=SMALL + 1, color=INK, transform=axes.transAxes,
        )  # fmt: skip
    known = seconds[(seconds > 0) & (found | (lower > 0))]
    if len(known) and seconds[-1] > SLOW * known[0]:
        axes.set_xscale("log")
        axes.set_xlim(known[0] / 1.5, seconds[-1] * 1.15)
    else:
        axes.set_xlim(0, seconds[-1] * 1.04)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="seconds", ylabel=f"{distance} distance")
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=SMALL
    )
    return saved(axes, path)


def _at_once(seconds: float, lower: float, upper: float) -> str:
    """A search whose first point was its last, or that met none, in words."""
    point = "no point" if np.isnan(upper) else f"its first point, at {upper:.4g},"
    return f"the search ended with {point}\nafter {seconds:.2g} s; nothing below {lower:.4g}"


def _turns(values: Floats) -> list[int]:
    """Where a stair rises or falls, and its two ends."""
    turns = [i + 1 for i, (one, two) in enumerate(pairwise(values)) if one != two]
    return sorted({0, *turns, len(values) - 1}) if len(values) else []


@dataclass(frozen=True)
class Step:
    """The nearest with at most so many changes; ``distance`` is ``None`` if there is none."""

    changes: int
    distance: float | None
    lower: float
    proved: bool


def draw_frontier(steps: Sequence[Step], distance: str, ax: Any, path: Any) -> Any:
    """A point for each number of changes; where none suffices, a hatched field."""
    size = (max(4.6, 0.5 * len(steps) + 2.4), 3.2)
    axes = axes_for("plotting a frontier", ax, path=path, size=size)
    found = [step for step in steps if step.distance is not None]
    x, y = [step.changes for step in found], [step.distance or 0.0 for step in found]
    last = max(step.changes for step in steps)
    axes.step([*x, last + 0.5], [*y, y[-1]], where="post", color=PALE, lw=1.5, zorder=1)
    for proved, marker, face, text in (
        (True, "D", VERMILLION, "nearest, proved"),
        (False, "D", "white", "nearest found, unproved"),
    ):
        of = [step for step in found if step.proved is proved]
        if of:
            axes.plot(
                [s.changes for s in of], [s.distance for s in of], marker, mfc=face, ms=7,
                mec=BLACK if proved else VERMILLION, mew=1.0 if proved else 1.5, zorder=3,
                label=text,
            )  # fmt: skip
    _open(axes, [step for step in steps if not step.proved])
    none = [step.changes for step in steps if step.distance is None and step.proved]
    if none:
        axes.axvspan(
            0.5, max(none) + 0.5, fc="white", ec=PALE, hatch="////", lw=0, zorder=0,
            label="no counterfactual, proved",
        )  # fmt: skip
    for step in found:
        axes.annotate(
            f"{step.distance:.3g}", (step.changes, step.distance), (5, 5), fontsize=SMALL,
            textcoords="offset points", color=INK,
        )  # fmt: skip
    axes.set(xlim=(0.5, last + 0.5), xticks=range(1, last + 1), ylim=(0, 1.18 * max(y)))
    axes.set(xlabel="features that change, at most", ylabel=f"{distance} distance")
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=SMALL
    )
    return saved(axes, path)


def _open(axes: Any, steps: Sequence[Step]) -> None:
    """From what is proved to what was found; without a point an arrow upwards."""
    closed = [step for step in steps if step.distance is not None]
    if closed:
        axes.vlines(
            [s.changes for s in closed], [s.lower for s in closed],
            [s.distance for s in closed], color=VERMILLION, lw=1.5, ls=":", zorder=2,
            label="the nearest is in here",
        )  # fmt: skip
    missing = [step for step in steps if step.distance is None]
    if missing:
        axes.plot(
            [s.changes for s in missing], [s.lower for s in missing], "^", mfc="white", ls="",
            mec=VERMILLION, label="none found; none below",
        )  # fmt: skip


@dataclass(frozen=True)
class Group:
    """The costs of one group's instances.

    Attributes:
        distance: Of those that have an answer (n,).
        lower: What is proved, of the same and of those without an answer yet.
        proved: Of the same, whether the answer is proved to be nearest.
        none: How many have no counterfactual, proved.
        open: How many have none yet, nothing proved.
    """

    name: str
    distance: Floats
    lower: Floats
    proved: Any
    none: int
    open: int

    @property
    def size(self) -> int:
        """All of them."""
        return len(self.distance) + self.none + self.open


def draw_shares(groups: Sequence[Group], ax: Any, path: Any) -> Any:
    """For every distance, which share of a group has a counterfactual within it."""
    names = [_named(group) for group in groups]
    wide = max(len(line) for name in names for line in name.split("\n")) * LETTER
    axes = axes_for("plotting costs", ax, path=path, size=(4.9 + wide, 3.6))
    end = max((float(g.distance.max()) for g in groups if len(g.distance)), default=0.0) or 1.0
    for i, group in enumerate(groups):
        look = {"color": COLOURS[i % len(COLOURS)], "ls": LINES[i % len(LINES)]}
        marker = MARKERS[i % len(MARKERS)]
        x, y = _shares(group.distance, group.size)
        axes.step(
            [0, *x, end * 1.05], [0, *y, y[-1] if len(y) else 0], where="post", lw=1.7, **look,
            marker=marker, ms=4.5, markevery=max(1, len(x) // 6), label=names[i],
        )  # fmt: skip
        if _is_open(group):
            best, share = _shares(group.lower, group.size)
            grid = np.union1d(np.union1d(x, best), [end * 1.05])
            high, low = _at(best, share, grid), _at(x, y, grid)
            axes.fill_between(
                grid, low, high, step="post", alpha=0.18, color=look["color"], lw=0,
                label="_proved share may be up to here",
            )  # fmt: skip
    axes.set(xlim=(0, end * 1.05), ylim=(0, 1.03), xlabel="distance")
    axes.locator_params(axis="x", nbins=5)
    axes.set_ylabel("share with a counterfactual within it")
    if any(map(_is_open, groups)):
        from matplotlib.patches import Patch

        handles, texts = axes.get_legend_handles_labels()
        handles.append(Patch(fc=PALE, alpha=0.5))
        axes.legend(handles, [*texts, "what lower bounds leave open"], **_beside())
    else:
        axes.legend(**_beside())
    return saved(axes, path)


def _is_open(group: Group) -> bool:
    """Whether something is left to prove."""
    return bool(group.open) or not group.proved.all()


def _beside() -> Mapping[str, Any]:
    return {
        "loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False, "fontsize": SMALL,
        "handlelength": 3.0,
    }  # fmt: skip


def _named(group: Group) -> str:
    """A group's name and size, and who of it has no answer."""
    text = f"{in_lines(group.name, GROUP, 2)} (n = {group.size:,})"
    more = [f"{group.none:,} have none, proved"] * bool(group.none)
    more += [f"{group.open:,} open"] * bool(group.open)
    return "\n".join([text, *["; ".join(more)] * bool(more)])


def _shares(values: Floats, size: int) -> tuple[Floats, Floats]:
    """Values in order, and which share of ``size`` is at most as large."""
    at, counts = np.unique(values, return_counts=True)
    return at, np.cumsum(counts) / max(size, 1)


def _at(x: Floats, y: Floats, grid: Floats) -> Floats:
    """A stair's height at the points of a grid."""
    places = np.searchsorted(x, grid, side="right")
    heights: Floats = np.r_[0.0, y][places]
    return heights


def draw_boxes(groups: Sequence[Group], ax: Any, path: Any) -> Any:
    """A box a group, from quarter to quarter, and its instances as marks."""
    from matplotlib.cbook import boxplot_stats

    names = [_named(group) for group in groups]
    wide = max(len(line) for name in names for line in name.split("\n")) * LETTER
    rows = sum(0.35 + 0.16 * (name.count("\n") + 1) for name in names)
    axes = axes_for("plotting costs", ax, path=path, size=(3.6 + wide, 1.1 + rows))
    rng = np.random.default_rng(0)
    for i, group in enumerate(groups):
        if not len(group.distance):
            continue
        (stats,) = boxplot_stats(group.distance, whis=(0, 100))
        axes.bxp(
            [stats], positions=[-i], orientation="horizontal", widths=0.5, showfliers=False,
            patch_artist=True, zorder=1, manage_ticks=False,
            boxprops={"fc": PALER, "ec": INK}, medianprops={"color": BLACK, "lw": 2},
            whiskerprops={"color": INK}, capprops={"color": INK},
        )  # fmt: skip
        y = -i + rng.uniform(-JITTER, JITTER, len(group.distance))
        for proved, marker, face in ((True, "o", BLUE), (False, "^", "white")):
            of = group.proved == proved
            axes.plot(
                group.distance[of], y[of], marker, ms=3.5, mfc=face, mew=0.8, ls="", zorder=3,
                alpha=0.75, mec=BLUE if proved else ORANGE, clip_on=False,
            )  # fmt: skip
    axes.set(xlabel="distance", ylim=(-len(groups) + 0.5, 0.5))
    axes.set_xlim(left=0)
    axes.set_yticks([-float(i) for i in range(len(groups))], names, fontsize=SMALL + 0.5)
    axes.tick_params(axis="y", length=0)
    _marks(axes, groups)
    axes.spines["left"].set_visible(False)
    return saved(axes, path)


def _marks(axes: Any, groups: Sequence[Group]) -> None:
    from matplotlib.lines import Line2D

    handles, texts = [], []
    for proved, marker, face, edge in ((True, "o", BLUE, BLUE), (False, "^", "white", ORANGE)):
        if any((group.proved == proved).any() for group in groups):
            handles.append(Line2D([], [], ls="", marker=marker, mfc=face, mec=edge, ms=5))
            texts.append("proved nearest" if proved else "nearest found, unproved")
    axes.legend(
        handles, texts, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False,
        fontsize=SMALL,
    )  # fmt: skip

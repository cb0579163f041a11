"""Features as lanes: each a line from its least to its largest value, with what changes on it.

Categories have no order, and so no line: what was stands at the left, what became of it at the
right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log1p
from textwrap import wrap
from typing import Any

import numpy as np

from ..arrays import Floats
from ..space import Feature
from .plots import (
    BLACK,
    BLUE,
    INK,
    LETTER,
    PALE,
    PALER,
    SMALL,
    VERMILLION,
    axes_for,
    in_lines,
    plain,
    require,
    saved,
    short,
)
from .values import short_pair, short_value

NAME = 22  # letters of a feature's name on a line
SLOT = 9.0  # letters at the left end of a lane, for the place of missing numbers
CLOSE = 0.03  # of a lane, within which two marks touch
UNSEEN = 0.01  # of a lane, within which they can hardly be told apart
BINS = 40
WIDE, NARROW = 3.6, 2.0  # inches of a lane: alone, and beside many
PITCH = 1.14  # from one column to the next, in lanes
ROW = 0.62  # inches from one lane to the next
HIGH = 0.33  # of a lane's height, of the bars behind it
SIDES = 0.3, 0.7  # of a lane, where categories before and after stand
Spot = tuple[float, float]


@dataclass(frozen=True)
class Lane:
    """One feature with the instance's value and what each answer makes of it.

    Attributes:
        before: Exact value of the instance.
        after: Exact value of each answer, one a column.
        proved: Whether each answer is proved to be nearest.
        data: Values of a table, codes or numbers as ``FeatureSpace.encode_frame`` gives them.
        note: What is said at the right end.
        closed: Whether no value of it does, proved: the lane is hatched.
        slot: Where the line begins, behind the place of missing numbers; 0 if none may be.
    """

    feature: Feature
    before: Any
    after: tuple[Any, ...]
    proved: tuple[bool, ...]
    data: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    note: str = ""
    closed: bool = False
    slot: float = 0.0

    @cached_property
    def unit(self) -> float | None:
        """On a logarithmic scale, what is small; ``None`` on a plain one.

        It is taken where changes are too small a share of the range to be seen, and can be then,
        or where all values are at the range's very beginning.
        """
        feature = self.feature
        if feature.is_symbolic or not feature.range:
            return None
        lower, width = float(feature.bounds[0]), float(feature.range)
        values = [float(v) for v in (self.before, *self.after) if not feature.is_absent(v)]
        moved = [abs(v - values[0]) for v in values if v != values[0]]
        if not moved or max(moved) >= UNSEEN * width:
            return None
        first, last, unit = min(values) - lower, max(values) - lower, min(moved)
        apart = (log1p(last / unit) - log1p(first / unit)) / log1p(width / unit)
        return unit if apart >= CLOSE else last / 20 if last < UNSEEN * width else None

    @property
    def is_unordered(self) -> bool:
        """Whether its values are categories without an order."""
        return self.feature.is_symbolic and self.feature.kind != "ordinal"

    def place(self, value: Any) -> float:
        """Where a value stands: 0 at the left end, 1 at the right one."""
        feature = self.feature
        if self.is_unordered:
            return SIDES[feature.code(value) != feature.code(self.before)]
        if feature.is_symbolic:
            return float(self._places(np.array([feature.code(value)]))[0])
        return float(self._places(np.array([float(value)]))[0])

    def _places(self, values: Floats) -> Floats:
        """Where codes or numbers stand."""
        feature = self.feature
        if feature.is_symbolic:
            places: Floats = (values + 0.5) / len(feature.labels)
            return places
        lower, width = float(feature.bounds[0]), float(feature.range) or 1.0
        absent = np.isnan(values) | (values == float(feature.absent or np.nan))
        along = np.where(absent, 0.0, values - lower).clip(0, width)
        if feature.range == 0:
            along = np.full(len(values), 0.5)
        if self.unit is not None:
            along = np.log1p(along / self.unit) / log1p(width / self.unit)
        else:
            along = along / width
        return np.where(absent, self.slot / 2, self.slot + (1 - self.slot) * along)

    def bars(self) -> tuple[Floats, Floats, float]:
        """Of the data: centres, heights from 0 to 1, and a width."""
        places = self._places(self.data)
        if self.feature.is_symbolic:
            count = len(self.feature.labels)
            heights = np.bincount(self.data.astype(int), minlength=count)
            return (np.arange(count) + 0.5) / count, heights / heights.max(), 0.7 / count
        edges = np.linspace(self.slot, 1, BINS + 1)
        absent = places < self.slot
        heights = np.histogram(places[~absent], edges)[0]
        centres = np.r_[(edges[1:] + edges[:-1]) / 2, [self.slot / 2] * bool(absent.any())]
        highest = max(heights.max(), 1)
        heights = np.r_[heights / highest, [min(absent.sum() / highest, 1)] * bool(absent.any())]
        return centres, heights, edges[1] - edges[0]


def _room(figure: Any, left: float, right: float, top: float, bottom: float) -> None:
    """Room for so many inches beside the only axes of a figure, but for at most nine tenths."""
    wide, high = figure.get_size_inches()
    figure.subplots_adjust(
        min(left / wide, 0.45), min(bottom / high, 0.45),
        1 - min(right / wide, 0.45), 1 - min(top / high, 0.45),
    )  # fmt: skip


def draw_lanes(
    lanes: Sequence[Lane], heading: str, titles: Sequence[str], ax: Any, path: Any, purpose: str
) -> Any:
    """Axes with a lane for each feature, from top to bottom, in as many columns as answers.

    In the axes' data coordinates lane i is at -i, and column k spans from ``k * pitch`` on.
    """
    count, written = len(titles), titles
    inches = WIDE if count == 1 else max(NARROW, WIDE - 0.6 * count)
    titles = [_fitted(title, int(inches / (LETTER * 1.12))) for title in written]
    names = [in_lines(lane.feature.name, NAME) for lane in lanes]
    left, right, top = _edges(lanes, names, heading, titles)
    handles, texts = _key(lanes, purpose)
    columns = _columns(texts, left + right + inches * _span(count))
    bottom = _foot(texts, columns)
    size = (left + right + inches * _span(count), top + bottom + ROW * len(lanes))
    axes = axes_for(purpose, ax, size=size, path=path, layout=None)
    figure = axes.get_figure(root=True)
    alone = figure.axes == [axes] and figure.get_layout_engine() is None
    if alone:
        _room(figure, left, right, top, bottom)
    width = axes.get_window_extent().width / figure.dpi
    letters = max(width / _span(count) / LETTER, 12)
    if ax is not None:
        titles = [_fitted(title, int(letters / 1.12)) for title in written]
        columns, top = _columns(texts, width), _edges(lanes, names, heading, titles)[2]
        if alone:
            _room(figure, left, right, top, _foot(texts, columns))
    for i, lane in enumerate(lanes):
        lane = replace(lane, slot=min(SLOT / letters, 0.35) if lane.feature.missing else 0.0)
        for k, (value, proved) in enumerate(zip(lane.after, lane.proved, strict=True)):
            _lane(axes, lane, value, (k * PITCH, -float(i)), letters, proved)
        if lane.note:
            end = (count - 1) * PITCH + 1.03
            axes.text(end, -i, plain(lane.note), va="center", fontsize=SMALL, color=INK)
    _frame(axes, lanes, names, heading, titles)
    _legend(axes, handles, texts, columns, ax is None)
    return saved(axes, path)


def _span(count: int) -> float:
    """How wide so many columns are, in lanes."""
    return (count - 1) * PITCH + 1.08


def _edges(
    lanes: Sequence[Lane], names: Sequence[str], heading: str, titles: Sequence[str]
) -> tuple[float, float, float]:
    """Inches left, right and above the lanes."""
    longest = max(len(line) for name in names for line in [*name.split("\n"), ""])
    notes = max((len(line) for lane in lanes for line in lane.note.split("\n")), default=0)
    above = 0.08 + 0.17 * _lines(titles) + 0.3 * bool(heading)
    return longest * LETTER * 1.12 + 0.25, notes * LETTER + 0.15, above


def _foot(texts: Sequence[str], columns: int) -> float:
    """Inches below the lanes: of the key."""
    return 0.1 + 0.17 * -(-len(texts) // columns)


def _fitted(title: str, letters: int) -> str:
    """A title whose lines have so many letters at most."""
    return "\n".join(part for line in title.split("\n") for part in wrap(line, letters) or [""])


def _lines(titles: Sequence[str]) -> int:
    """Of the highest title."""
    return max((title.count("\n") + 1 for title in titles if title), default=0)


def _frame(
    axes: Any, lanes: Sequence[Lane], names: Sequence[str], heading: str, titles: Sequence[str]
) -> None:
    """Names and headings."""
    count = len(titles)
    axes.set(xlim=(-0.04, _span(count) - 0.04), ylim=(-len(lanes) + 0.5, 0.5), xticks=[])
    axes.set_yticks([-float(i) for i in range(len(lanes))], names, fontsize=SMALL + 1)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for k, title in enumerate(titles):
        axes.annotate(
            plain(title), (k * PITCH + 0.5, 0.5), (0, 4), textcoords="offset points", ha="center",
            va="bottom", fontsize=SMALL + 1, annotation_clip=False,
        )  # fmt: skip
    axes.set_title(plain(heading), fontsize=SMALL + 3, pad=8 + 12 * _lines(titles))


def _legend(
    axes: Any, handles: Sequence[Any], texts: Sequence[str], columns: int, own: bool
) -> None:
    """The key, below the lanes of a figure of its own, or of axes among others."""
    where: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    if own:
        where = {"loc": "lower center", "bbox_to_anchor": (0.5, 0.0),
                 "bbox_transform": axes.get_figure(root=True).transFigure}  # fmt: skip
    axes.legend(
        handles, texts, ncols=columns, frameon=False, fontsize=SMALL, handletextpad=0.4,
        columnspacing=1.2, **where,
    )  # fmt: skip


def _columns(texts: Sequence[str], inches: float) -> int:
    """In how many columns a key fits."""
    sign = 4  # letters that a mark takes
    if (sum(map(len, texts)) + sign * len(texts)) * LETTER <= inches:
        return len(texts)
    return max(1, int(inches / ((max(map(len, texts)) + sign) * LETTER)))


def _key(lanes: Sequence[Lane], purpose: str) -> tuple[list[Any], list[str]]:
    """What the marks are, and which there are."""
    require(purpose)
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def mark(marker: str, face: str, edge: str) -> Any:
        return Line2D([], [], ls="", marker=marker, mfc=face, mec=edge, ms=6)

    made = [(mark("o", "white", BLUE), "factual")]
    changed = {
        proved
        for lane in lanes
        for value, proved in zip(lane.after, lane.proved, strict=True)
        if value != lane.before
    }
    if True in changed:
        made.append((mark("D", VERMILLION, BLACK), "counterfactual (proved)"))
    if False in changed:
        made.append((mark("D", "white", VERMILLION), "counterfactual (not proved nearest)"))
    if any(lane.closed for lane in lanes):
        made.append((Patch(fc="white", ec=PALE, hatch="////"), "no value suffices, proved"))
    rows = max((len(lane.data) for lane in lanes if not lane.is_unordered), default=0)
    if rows:
        made.append((Patch(fc=PALER), f"{rows:,} rows of data"))
    return [handle for handle, _ in made], [text for _, text in made]


def _lane(axes: Any, lane: Lane, value: Any, spot: Spot, letters: float, proved: bool) -> None:
    """One feature in one column: data behind, the line, both marks, and what they stand for."""
    x, y = spot
    if len(lane.data) and not lane.is_unordered:
        at, heights, width = lane.bars()
        at, heights = at[heights > 0], heights[heights > 0]
        left, right, top = x + at - width / 2, x + at + width / 2, y + HIGH * heights
        base = np.full(len(at), y)
        outline = np.c_[left, left, right, right], np.c_[base, top, top, base]
        axes.fill(*(each.ravel() for each in outline), color=PALER, lw=0, zorder=0, label="data")
    if lane.closed:
        axes.fill_between(
            [x + lane.slot, x + 1], y - 0.13, y, fc="white", ec=PALE, hatch="////", lw=0,
            zorder=1,
        )  # fmt: skip
    if not lane.is_unordered:
        axes.plot([x + lane.slot, x + 1], [y, y], color=PALE, lw=2, solid_capstyle="butt", zorder=1)
    before, after = lane.place(lane.before), lane.place(value)
    moved = value != lane.before
    if moved and abs(before - after) > 2 * CLOSE:
        axes.annotate(
            "", (x + after, y), (x + before, y), zorder=2,
            arrowprops={"arrowstyle": "-|>", "color": VERMILLION, "lw": 1.5, "shrinkA": 4,
                        "shrinkB": 5},
        )  # fmt: skip
    axes.plot(x + before, y, "o", mfc="white", mec=BLUE, mew=1.5, ms=8, zorder=3, label="factual")
    if moved:
        face, edge = (VERMILLION, BLACK) if proved else ("white", VERMILLION)
        axes.plot(
            x + after, y, "D", mfc=face, mec=edge, mew=0.8 if proved else 1.5, ms=6, zorder=4,
            label="counterfactual",
        )  # fmt: skip
    _above(axes, lane, value, spot, letters)
    _below(axes, lane, value, spot, letters)


def _above(axes: Any, lane: Lane, value: Any, spot: Spot, letters: float) -> None:
    """The two values, each above its mark; side by side where the marks are close."""
    moved = value != lane.before
    before, after = lane.place(lane.before), lane.place(value)
    own, other = (
        short(text, int(letters * 0.48)) for text in short_pair(lane.feature, lane.before, value)
    )
    if not moved:
        _text(axes, own, before, spot, letters, 0.16, BLUE)
        return
    left, right = sorted([(before, len(own)), (after, len(other))])
    room = (_middle(right, letters) - _middle(left, letters)) * letters
    if room >= (left[1] + right[1]) / 2 + 1.5:
        _text(axes, own, before, spot, letters, 0.16, BLUE)
        _text(axes, other, after, spot, letters, 0.16, VERMILLION)
    else:
        text = f"{own} → {other}" if before <= after else f"{other} ← {own}"
        _text(axes, text, (before + after) / 2, spot, letters, 0.16, VERMILLION)


def _below(axes: Any, lane: Lane, value: Any, spot: Spot, letters: float) -> None:
    """The ends of the line, or the categories where there is room for them."""
    feature = lane.feature
    if feature.missing:
        axes.plot(spot[0] + lane.slot / 2, spot[1], "|", color=PALE, ms=6, zorder=1)
        if not any(map(feature.is_absent, (lane.before, value))):
            _text(axes, "missing", lane.slot / 2, spot, letters, -0.16, INK)
    if not feature.is_symbolic:
        low, high = (short_value(feature, end) for end in feature.bounds)
        _text(axes, low, lane.slot, spot, letters, -0.16, INK, ha="left")
        _text(axes, high, 1.0, spot, letters, -0.16, INK, ha="right")
        if lane.unit is not None:
            middle = (lane.slot + len(low) / letters + 1 - len(high) / letters) / 2
            _text(axes, "log scale", middle, spot, letters, -0.16, INK)
        return
    labels = feature.labels
    if lane.is_unordered:
        if len(labels) > 2:
            _text(axes, f"{len(labels)} categories", 0.5, spot, letters, -0.16, INK)
        return
    places = [lane.place(label) for label in labels]
    axes.plot(
        [spot[0] + p for p in places], [spot[1]] * len(places), "|", color=PALE, ms=6, zorder=1
    )
    texts = [short_value(feature, label) for label in labels]
    if max(map(len, texts)) + 1 <= letters / len(labels):
        for label, text, place in zip(labels, texts, places, strict=True):
            if label not in (lane.before, value):
                _text(axes, text, place, spot, letters, -0.16, INK)
        return
    first, last = (short(texts[end], int(letters * 0.3)) for end in (0, -1))
    _text(axes, first, 0.0, spot, letters, -0.16, INK, ha="left")
    _text(axes, last, 1.0, spot, letters, -0.16, INK, ha="right")
    between = f"{len(labels)} levels"
    if len(first) + len(between) + len(last) + 4 <= letters:
        place = (len(first) / letters + 1 - len(last) / letters) / 2
        _text(axes, between, place, spot, letters, -0.16, INK)


def _middle(text: tuple[float, int], letters: float) -> float:
    """Where the middle of a text comes to lie that is meant for a place, kept within the lane."""
    place, length = text
    half = min(length / letters / 2, 0.5)
    return min(max(place, half), 1 - half)


def _text(
    axes: Any, text: str, place: float, spot: Spot, letters: float, dy: float, colour: str,
    ha: str = "center",
) -> None:  # fmt: skip
    """A text at a place of a lane; one that would go beyond an end begins or ends there."""
    from matplotlib.patheffects import withStroke

    middle = _middle((place, len(text)), letters) if ha == "center" else place
    if middle != place:
        ha, middle = ("left", 0.0) if middle > place else ("right", 1.0)
    va = "bottom" if dy > 0 else "top"
    axes.text(
        spot[0] + middle, spot[1] + dy, plain(text), ha=ha, va=va, fontsize=SMALL, color=colour,
        zorder=5, path_effects=[withStroke(linewidth=2, foreground=axes.get_facecolor())],
    )  # fmt: skip

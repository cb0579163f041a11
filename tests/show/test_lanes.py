"""Lanes: where values stand, which scale is taken, and what is written on them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import log1p
from typing import Any

import numpy as np
import pytest

from cfxc.errors import DataTypeError, MissingExtraError
from cfxc.show import plots
from cfxc.show.lanes import Lane, draw_lanes
from cfxc.show.values import short_pair, short_value, value_text
from cfxc.space import Feature

F = Fraction


def number(before: Any, *after: Any, lower: Any = 0, upper: Any = 100, **more: Any) -> Lane:
    feature = Feature("x", "real", lower, upper, missing=more.pop("missing", False))
    return Lane(feature, F(before), tuple(map(F, after)), (True,) * len(after), **more)


def labels(before: str, after: str, names: list[str], **more: Any) -> Lane:
    return Lane(Feature("c", "categorical", labels=tuple(names)), before, (after,), (True,), **more)


def drawn(*lanes: Lane, titles: tuple[str, ...] = ("",), **more: Any) -> Any:
    pytest.importorskip("matplotlib")
    return draw_lanes(lanes, "no → yes", titles, more.get("ax"), more.get("path"), "drawing")


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text()]


def marks(axes: Any, label: str) -> list[tuple[float, float]]:
    found = [line for line in axes.lines if line.get_label() == label]
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in found]


def test_marks_stand_at_the_share_of_the_range() -> None:
    axes = drawn(number(20, 60), labels("b", "a", ["a", "b", "c", "d"]))
    assert marks(axes, "factual") == [(0.2, 0), (0.3, -1)]
    assert marks(axes, "counterfactual") == [(0.6, 0), (0.7, -1)]
    assert {"20", "60", "0", "100", "b", "a", "4 categories"} == set(texts(axes))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["x", "c"]
    assert axes.get_title() == "no → yes"


def test_answers_side_by_side_are_columns() -> None:
    axes = drawn(number(20, 60, 20, 80), titles=("1", "2", "3"))
    at = [x for x, _ in marks(axes, "counterfactual")]
    assert at == pytest.approx([0.6, 2 * 1.14 + 0.8])
    assert len(marks(axes, "factual")) == 3
    assert {"1", "2", "3"} <= set(texts(axes))


def test_small_changes_take_a_logarithmic_scale_where_that_shows_them() -> None:
    near = number(20, 90, upper=10**9)
    assert near.unit == 70
    assert near.place(F(90)) == pytest.approx(log1p(90 / 70) / log1p(10**9 / 70))
    assert number(20, 60).unit is None
    assert number(50, F(501, 10)).unit is None  # in the middle it would not
    low = number(20000, 20100, upper=10**9)
    assert low.unit == 20100 / 20
    assert low.place(F(0)) == 0
    assert low.place(F(10**9)) == 1
    assert "log scale" in texts(drawn(near))
    assert "log scale" not in texts(drawn(number(20, 60)))


def test_missing_numbers_have_a_place_of_their_own() -> None:
    lane = number(-1, 50, missing=True)
    assert lane.feature.is_absent(lane.before)
    axes = drawn(lane)
    ((at, _),) = marks(axes, "factual")
    (line,) = [each for each in axes.lines if len(each.get_xdata()) == 2]
    assert 0 < at < line.get_xdata()[0]
    assert texts(axes).count("missing") == 1
    assert texts(drawn(number(10, 50, missing=True))).count("missing") == 1


def test_data_stand_behind_as_shares() -> None:
    rows = np.array([0.0] * 10 + [99.0] * 5)
    at, heights, width = number(20, 60, data=rows).bars()
    assert heights[0] == 1
    assert heights[-1] == 0.5
    assert heights[1:-1].sum() == 0
    assert (at[0], width) == pytest.approx((1 / 80, 1 / 40))
    codes = np.array([0.0, 1, 1, 1])
    at, heights, _ = labels("a", "b", ["a", "b", "c"], data=codes).bars()
    assert at == pytest.approx([1 / 6, 1 / 2, 5 / 6])
    assert heights.tolist() == pytest.approx([1 / 3, 1, 0])
    missing = replace(number(-1, 50, missing=True), slot=0.2, data=np.array([-1.0, np.nan, 50]))
    at, heights, _ = missing.bars()
    assert at[-1] == 0.1
    assert heights.sum() == 2  # one bar of numbers, and one of both that are missing, cut to fit
    assert "15 rows of data" in [
        text.get_text() for text in drawn(number(20, 60, data=rows)).get_legend().get_texts()
    ]


@pytest.mark.parametrize("count", [2, 5, 40])
def test_labels_are_written_where_there_is_room(count: int) -> None:
    names = [f"a label of number {i}" for i in range(count)]
    axes = drawn(labels(names[0], names[-1], names))
    assert all(len(text) <= 66 for text in texts(axes))
    assert (f"{count} categories" in texts(axes)) == (count > 2)


def test_categories_have_no_line_and_levels_have_their_ends_named() -> None:
    rows = np.array([0.0, 1, 1])
    axes = drawn(labels("b", "a", ["a", "b", "c"], data=rows))
    assert not [line for line in axes.lines if len(line.get_xdata()) > 1]
    assert not axes.patches
    assert "3 rows of data" not in [text.get_text() for text in axes.get_legend().get_texts()]
    names = tuple(f"level {i}" for i in range(30))
    feature = Feature("c", "ordinal", labels=names)
    axes = drawn(Lane(feature, names[4], (names[8],), (True,), rows))
    assert {"level 0", "level 29", "30 levels"} <= set(texts(axes))
    assert [line for line in axes.lines if len(line.get_xdata()) == 2]
    assert axes.patches


def test_what_is_unproved_or_ruled_out_looks_otherwise() -> None:
    axes = drawn(replace(number(20, 60), proved=(False,)), number(20, 20, closed=True))
    (mark,) = [line for line in axes.lines if line.get_label() == "counterfactual"]
    assert mark.get_markerfacecolor() == "white"
    assert [each.get_hatch() for each in axes.collections if each.get_hatch()] == ["////"]
    key = [text.get_text() for text in axes.get_legend().get_texts()]
    assert key == ["factual", "counterfactual (not proved nearest)", "no value suffices, proved"]


def test_texts_stay_apart() -> None:
    """With a renderer at hand: no text lies on another."""
    long = "a_long_name_of_a_feature_that_somebody_thought_of_late_at_night_in_winter"
    lanes = [
        replace(number(20, 60, 20), feature=Feature(long, "real", 0, 100)),
        number(20, 21, F(1, 3)), number(0, 100, 99), number(0, 10**9, 1, upper=10**9),
        number(F(1, 3), F(33333334, 10**8), F(1, 7), upper=1),
        number(-1, 50, -1, missing=True), number(10, -1, 0, missing=True),
        Lane(
            Feature("c", "categorical", labels=tuple(f"Country number {i}" for i in range(40))),
            "Country number 3", ("Country number 37", "Country number 4"), (True, True),
        ),
        Lane(
            Feature("d", "ordinal", labels=("2024-01-05", "2024-02-05", "2024-03-05")),
            "2024-01-05", ("2024-03-05", "2024-02-05"), (True, False),
        ),
    ]  # fmt: skip
    for count in (1, 2, 4):
        shown = [
            replace(lane, after=(lane.after * 2)[:count], proved=(True, False, True, True)[:count])
            for lane in lanes
        ]
        axes = drawn(
            *shown,
            titles=("1\nl1 distance 0.00424671\nproved: none below 0.00424669",) * count,
        )
        figure = axes.get_figure()
        figure.canvas.draw()
        boxes = [
            (text.get_text(), text.get_window_extent())
            for text in [
                *axes.texts,
                *axes.get_yticklabels(),
                *axes.get_legend().get_texts(),
                axes.title,
            ]
            if text.get_text()
        ]
        for i, (one, box) in enumerate(boxes):
            assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1, one
            assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1, one
            for other, second in boxes[:i]:
                assert not box.padded(-1).overlaps(second.padded(-1)), (one, other)


def test_values_lie_within_their_lane_and_are_set_off_from_data() -> None:
    value = F(964672555, 10**9)
    lane = replace(number(value, F(14088, 10**6), upper=8500), data=np.linspace(0, 9, 50))
    axes = drawn(lane)
    axes.get_figure().canvas.draw()
    (text,) = [each for each in axes.texts if "←" in each.get_text()]
    start = axes.transData.inverted().transform(text.get_window_extent().get_points())[0, 0]
    assert start >= -0.005
    assert text.get_path_effects()


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("age", 9, "age"), ("monthly_income", 9, "monthly_\nincome"), ("a b", 9, "a b"),
        ("x" * 40, 9, "xxxxxxxxx\nxxxxxxxx…\nxxxxxxxxx"), ("5$ or $6", 9, r"5\$ or \$6"),
        ("two\nlines\tand", 9, "two lines\nand"), ("", 9, ""),
        ("NumberOfTimes90DaysLate", 22, "NumberOfTimes90Days\nLate"),
    ],
)  # fmt: skip
def test_names_are_broken_into_lines(text: str, width: int, lines: str) -> None:
    assert plots.in_lines(text, width) == lines


def test_values_as_people_write_them() -> None:
    real, single = Feature("x", "real", 0, 10**12), Feature("x", "real", 0, 1, dtypes=("float32",))
    assert value_text(real, F(0.1)) == "0.1"
    assert value_text(single, F(float(np.float32(0.1)))) == "0.1"
    assert short_value(real, F(0.123456789012)) == "≈0.123457"
    assert short_value(real, F(12345678901)) == "12\u202f345\u202f678\u202f901"
    assert short_pair(real, F(1 / 3), F(0.33333334)) == ("≈0.33333333", "≈0.33333334")
    missing = Feature("x", "real", 0, 1, missing=True)
    assert value_text(missing, missing.absent) == "missing"
    assert value_text(Feature("c", "categorical", labels=("a", None)), None) == "missing"


def test_axes_of_others_are_drawn_on(tmp_path: Any) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, (one, two) = pyplot.subplots(1, 2)
    assert drawn(number(20, 60), ax=one) is one
    assert not two.lines
    before = pyplot.get_fignums()
    drawn(number(20, 60), path=tmp_path / "lane.svg")
    assert pyplot.get_fignums() == before
    assert (tmp_path / "lane.svg").stat().st_size > 0
    pyplot.close(figure)
    with pytest.raises(DataTypeError, match="ax: axes of matplotlib"):
        drawn(number(20, 60), ax=figure)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"drawing needs .* pip install 'cfxc\[plot\]'"):
        draw_lanes([number(20, 60)], "", [""], None, None, "drawing")

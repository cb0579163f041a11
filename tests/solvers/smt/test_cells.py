"""Cells of one feature: where its cuts lie, and the nearest admissible point of each."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.terms import Pool, Term, evaluate_term
from cfxc.ir.float32 import round_to_float32
from cfxc.question.domain import Domain, domain_of
from cfxc.solvers.encoding.cells import Cells, CellVariables, between_values
from cfxc.space import Feature
from tests.solvers.grids import all_values

F = Fraction


def domain(own: Any, **fields: Any) -> Domain:
    settings = {"kind": "real", "lower": F(0), "upper": F(1)} | fields
    return domain_of(Feature("x", **settings), own)


def cells_of(
    found: Domain, cuts: list[Fraction], *, strict: bool = False, rounded: bool = False
) -> tuple[Cells, list[Term], Pool]:
    """The cells of ``x <= cut`` (or ``<``), and what the atoms became."""
    pool = Pool()
    x = pool.var("x", "int" if found.sort.kind == "int" else "real", found.lower, found.upper)
    inner = pool.apply("round_float32", x, None, None) if rounded else x
    atoms = [pool.at_most(inner, cut, strict=strict) for cut in cuts]
    window = (found.lower, found.upper, None)
    made = CellVariables.of(pool, atoms, {"x": x}, [found], [window])
    assert made is not None
    return made.cells["x"], made.rewrite(atoms)[: len(atoms)], pool


@pytest.mark.parametrize(
    ("cuts", "own", "expected", "points"),
    [
        pytest.param([4], 2, [4], [2, 5], id="above"),
        pytest.param([2], 2, [2], [2, 3], id="at the factual"),
        pytest.param([1], 2, [1], [1, 2], id="below"),
        pytest.param([1.5], 2, [1], [1, 2], id="between values"),
        pytest.param([1, 1.25, 1.5, 1.75], 2, [1], [1, 2], id="the same cut"),
        pytest.param([-1, 7, 6], 2, [], [2], id="outside"),
        pytest.param([0, 5], 2, [0, 5], [0, 2, 6], id="at the ends"),
        pytest.param([0, 1, 3, 4], 2, [0, 1, 3, 4], [0, 1, 2, 4, 5], id="both sides"),
    ],
)  # fmt: skip
def test_whole_numbers(cuts: list[float], own: int, expected: list[int], points: list[int]) -> None:
    found, rewritten, pool = cells_of(
        domain(own, kind="integer", upper=F(6)), [F(cut) for cut in cuts]
    )
    assert found.cuts == tuple(expected)
    assert found.points == tuple(points)
    assert found.points[found.home] == own
    for cut, term in zip(cuts, rewritten, strict=True):
        if cut < 0:
            assert term is pool.false
        if cut >= 6:
            assert term is pool.true


@pytest.mark.parametrize(("low", "high"), [(F(3), F(6)), (F(0), F(1))])
def test_what_leads_to_a_window_without_the_factual_is_paid(low: Fraction, high: Fraction) -> None:
    whole = domain(2, kind="integer", upper=F(6))
    found, _, pool = cells_of(replace(whole, lower=low, upper=high), [F(0), F(4)])
    assert found.base == F(1, 6)
    values = [int(point) for point in found.points]
    for k, value in enumerate(values):
        held = {literal.data: k <= cut for cut, literal in enumerate(found.order)}
        steps = sum((size for term, size in found.steps(pool) if evaluate_term(term, held)), F(0))
        assert found.base + steps == F(abs(value - 2), 6)


def test_strict_comparisons() -> None:
    found, _, _ = cells_of(domain(2, kind="integer", upper=F(6)), [F(3)], strict=True)
    assert found.cuts == (2,)
    tenth = domain(F(0), resolution=F(1, 10))
    cut = F(0.3)
    assert cells_of(tenth, [cut], strict=True)[0].cuts == (F(0.2),)
    assert cells_of(tenth, [cut])[0].cuts == (cut,)
    free = domain(F(0))
    assert cells_of(free, [cut], strict=True)[0].cuts == (F(float(np.nextafter(0.3, 0))),)


def test_reals_step_to_the_next_double() -> None:
    found, _, _ = cells_of(domain(F(1, 2)), [F(1, 4), F(3, 4)])
    assert found.cuts == (F(1, 4), F(3, 4))
    assert found.points == (F(1, 4), F(1, 2), F(float(np.nextafter(0.75, 1))))


def test_a_threshold_that_is_no_double() -> None:
    found, _, _ = cells_of(domain(F(1)), [F(1, 3)])
    (cut,) = found.cuts
    assert cut <= F(1, 3) < F(float(np.nextafter(float(cut), 1)))


def test_resolutions_take_what_the_column_holds() -> None:
    tenth = domain(F(0), resolution=F(1, 10))
    found, _, _ = cells_of(tenth, [F(3, 10), F(0.3), F(7, 10)])
    # 0.3 as a double is below 3/10, and 0.7 below 7/10
    assert found.cuts == (F(0.3), F(0.7))
    assert found.points == (F(0), F(0.4), F(0.8))


def test_a_factual_off_the_grid_stays_a_value() -> None:
    found, _, _ = cells_of(domain(F(0.35), resolution=F(1, 10)), [F(0.3), F(0.35)])
    assert found.cuts == (F(0.3), F(0.35))
    assert found.points == (F(0.3), F(0.35), F(0.4))


def test_narrow_columns() -> None:
    narrow = domain(F(0), resolution=F(1, 10), dtypes=("float32",))
    held = F(float(np.float32(0.3)))
    found, _, _ = cells_of(narrow, [F(0.3), held])
    # float32(0.3) lies above the double 0.3, so x <= 0.3 ends at 0.2
    assert found.cuts == (F(float(np.float32(0.2))), held)
    free = domain(F(0), dtypes=("float32",))
    after = F(float(np.nextafter(np.float32(0.3), np.float32(1))))
    assert cells_of(free, [held])[0].points == (F(0), after)


def test_actions_cut_cells_off() -> None:
    found, rewritten, pool = cells_of(
        domain(2, kind="integer", upper=F(6), action="increase"), [F(1), F(4)]
    )
    assert found.cuts == (4,)
    assert rewritten[0] is pool.false
    found, rewritten, pool = cells_of(
        domain(2, kind="integer", upper=F(6), action="decrease"), [F(1), F(4)]
    )
    assert found.cuts == (1,)
    assert rewritten[1] is pool.true


def features() -> st.SearchStrategy[dict[str, Any]]:
    widths = st.sampled_from([("float64",), ("float32",)])
    steps = st.sampled_from([F(1, 10), F(1, 4), F(1, 3)])
    reals = st.fixed_dictionaries({"dtypes": widths, "resolution": steps})
    return st.one_of(st.just({"kind": "integer", "upper": F(7)}), reals)


@settings(max_examples=150, derandomize=True)
@given(features(), st.booleans(), st.booleans(), st.data())
def test_cells_by_enumeration(
    fields: dict[str, Any], strict: bool, rounded: bool, data: Any
) -> None:
    """Every value is in the cell of its nearest point, and atoms hold cell by cell."""
    feature = Feature("x", **({"kind": "real", "lower": F(0), "upper": F(1)} | fields))
    values = all_values(feature, F(0))
    own = data.draw(st.sampled_from(values))
    found = domain(own, **fields)
    near = sorted({v + e for v in map(F, values) for e in (F(0), F(1, 10**9), -F(1, 10**9))})
    cuts = data.draw(st.lists(st.sampled_from([*near, F(-1), F(9)]), min_size=1, max_size=4))
    cells, rewritten, pool = cells_of(found, cuts, strict=strict, rounded=rounded)

    def truth(cut: Fraction, value: Fraction) -> bool:
        seen = F(round_to_float32(value)) if rounded else value
        return seen < cut if strict else seen <= cut

    for value in map(F, values):
        cell = sum(cut < value for cut in cells.cuts)
        inside = [v for v in map(F, values) if sum(cut < v for cut in cells.cuts) == cell]
        assert cells.points[cell] == min(inside, key=lambda v: abs(v - F(own)))
        for cut, term in zip(cuts, rewritten, strict=True):
            if term in (pool.true, pool.false):
                assert truth(cut, value) == term.is_true
            else:
                assert truth(cut, value) == (value <= cells.cuts[cells.order.index(term)])
        paid = sum(
            (step for (literal, step), held in zip(
                cells.steps(pool),
                [value <= cut if k < cells.home else value > cut
                 for k, cut in enumerate(cells.cuts)],
                strict=True,
            ) if held), F(0),
        )  # fmt: skip
        assert paid == found.delta(cells.points[cell])


@settings(max_examples=100, derandomize=True)
@given(st.sampled_from([F(1, 10), F(1, 4)]), st.booleans(), st.data())
def test_comparisons_half_way(step: Fraction, strict: bool, data: Any) -> None:
    """They keep their truth on every admissible value, and a little around it."""
    found = domain(F(0), resolution=step)
    values = all_values(Feature("x", "real", lower=F(0), upper=F(1), resolution=step), F(0))
    cut = data.draw(st.sampled_from([*values, F(1, 7), F(-1), F(2)]))
    pool = Pool()
    x = pool.var("x", "real", F(0), F(1))
    (moved,) = between_values(pool, [pool.at_most(x, cut, strict=strict)], {"x": x}, [found])
    for value in values:
        expected = value < cut if strict else value <= cut
        if moved.kind == "const":
            assert moved.is_true == expected
            continue
        for near in (value - step / 10, value, value + step / 10):
            assert (near <= moved.data) == expected


def test_many_cuts_take_a_look_each() -> None:
    """As many as deep forests have: what a cell costs does not grow with how many there are."""
    count = 2000
    found = domain(count // 2, kind="integer", upper=F(2 * count))
    cells, _, pool = cells_of(found, [F(cut) for cut in range(2 * count)])
    started = process_time()
    sizes = [size for _, size in cells.steps(pool)]
    assert process_time() - started < 3  # a second for a machine that is slow, not ten
    assert sum(sizes[: cells.home]) == F(1, 4)

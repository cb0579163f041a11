"""Rows of maxima are written when a solver asks for them; the search by regions reads none."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cfxc.compiler.emit.rows import MAX
from cfxc.compiler.mixed_integer import Model, rounded
from cfxc.solvers.mio.formulation import Formulation, Formulator
from cfxc.solvers.mio.regions import Regions, applies
from cfxc.stopping import STOPS, now, until
from tests.solvers.mio.test_search import NETWORKS, asked

F = Fraction


def formulated(kind: str, distance: Any = "l1") -> Formulation:
    query, _, _ = asked(kind, 3, distance)
    return Formulator(query).formulate(F(1))


@pytest.mark.parametrize("kind", NETWORKS)
def test_rows_on_demand(kind: str) -> None:
    """Once, at the end, the same for all who ask; what was known before stays where it was."""
    formulation = formulated(kind)
    emission = formulation.emission
    waiting, before, rows = [*emission.maxima], [*emission.model.columns], len(emission.model.rows)
    assert waiting
    assert not emission.phases
    assert MAX not in {row.why for row in emission.model.rows}
    model = formulation.model
    assert not emission.maxima
    assert model.columns[: len(before)] == before
    assert emission.phases == {*range(len(before), len(model.columns))}
    exact = sum(maximum.exact for maximum in waiting)
    assert len(emission.phases) == exact
    assert len(model.rows) == rows + len(waiting) + 2 * exact
    assert formulation.model is model
    assert len(model.rows) == rows + len(waiting) + 2 * exact, "not written again"
    assert rounded(model).row_lower.size == len(model.rows)


@pytest.mark.parametrize("kind", NETWORKS)
def test_rows_admit_the_maximum_alone(kind: str) -> None:
    """Whatever z is, the rows leave max(z, 0), and of those that are exact nothing else."""
    emission = formulated(kind).emission
    for maximum in emission.maxima:
        alone = Model(columns=[*emission.model.columns])
        phases = maximum.write(alone)
        assert len(phases) == maximum.exact
        (source, factor), *_ = maximum.z.terms.items()
        for z in (maximum.low, maximum.low / 2, F(0), maximum.high / 3, maximum.high):
            for above in (F(0), F(1)):
                point = [F(0)] * len(alone.columns)
                point[source] = (z - maximum.z.constant) / factor
                point[maximum.column] = max(z, F(0)) + above
                admitted = False
                for phase in (F(0), F(1)):
                    for j in phases:
                        point[j] = phase
                    admitted |= all(row.holds(point) for row in alone.rows)
                assert admitted == (not above or not maximum.exact), (z, above)


@pytest.mark.parametrize("kind", NETWORKS)
def test_regions_are_the_same_before_and_after(kind: str) -> None:
    """What a search by regions reads of a program does not depend on who asked for its rows."""
    early, late = formulated(kind), formulated(kind)
    assert late.model.rows
    assert applies(early)
    assert applies(late)
    one, other = Regions(early), Regions(late)
    assert one.base == other.base
    for before, after in zip(one.problem, other.problem, strict=True):
        np.testing.assert_array_equal(before, after)
    point = one.high.copy()
    assert one._lift(point) == other._lift(point)


def test_regions_of_many_units_look_at_the_clock() -> None:
    """Networks of thousands of units go by regions too, for which there may be no time left."""
    formulation = formulated("relu")
    with until(now()), pytest.raises(STOPS):
        Regions(formulation)

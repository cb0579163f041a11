"""A formula at any radius holds exactly the points of the ball: checked point by point."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cfxc import FeatureSpace
from cfxc.compiler.functional import Symbolic
from cfxc.compiler.terms import Pool, Term
from cfxc.ir import evaluate
from cfxc.lang import compile_program
from cfxc.question.domain import is_admissible
from cfxc.question.query import Query, make_query
from cfxc.solvers.smt import Encoder, Encoding, backend
from cfxc.space import Feature
from tests.solvers.grids import NORMS, Point, all_values, allowed_values, delta, norm
from tests.solvers.test_brute_force_properties import (
    Asked,
    enumerate_values,
    forests,
    hit,
    linear_models,
    networks,
    questions,
)

F = Fraction

CONSTRAINTS: dict[str, Callable[[Point, Point], bool]] = {
    "f0 != factual.f0 || f1 == factual.f1": lambda x, own: (
        x["f0"] != own["f0"] or x["f1"] == own["f1"]
    ),
    "f0 == factual.f0": lambda x, own: x["f0"] == own["f0"],
    "f1 != factual.f1": lambda x, own: x["f1"] != own["f1"],
}


def at(encoding: Encoding, query: Query, point: Point) -> list[Term]:
    """The formula and the facts that its variables stand for one point of the grid.

    Cells know only on which side of each cut a value lies; of a cell the nearest point counts.
    """
    pool, facts = encoding.pool, list(encoding.assertions)
    for domain in query.domains:
        value, x = point[domain.name], encoding.inputs[domain.name]
        if isinstance(x, Symbolic):
            here = x.labels.position(value)
            facts += [g if i == here else pool.not_(g) for i, g in enumerate(x.guards)]
        elif encoding.cells is not None and domain.name in encoding.cells.names:
            cells = encoding.cells.cells[domain.name]
            pairs = zip(cells.cuts, cells.order, strict=True)
            facts += [o if F(value) <= cut else pool.not_(o) for cut, o in pairs]
        else:
            facts.append(pool.eq(x, pool.const(F(value))))
    return facts


def holds(encoding: Encoding, query: Query, point: Point) -> bool:
    if encoding.is_refuted:
        return False
    answer = backend("z3").check(encoding.pool, at(encoding, query, point), 10)
    assert answer.status in ("sat", "unsat")
    return answer.status == "sat"


def nearest(encoding: Encoding, point: Point) -> Point:
    """What a solver's model of the point is read as: of each cell its nearest point."""
    if encoding.cells is None:
        return point
    found = dict(point)
    for name, cells in encoding.cells.cells.items():
        found[name] = cells.points[sum(cut < F(point[name]) for cut in cells.cuts)]
    return found


def in_window(encoding: Encoding, query: Query, point: Point) -> bool:
    """Whether every constant stands for the point's value, so that facts can speak of it."""
    for domain in query.domains:
        x = encoding.inputs[domain.name]
        if isinstance(x, Symbolic):
            if x.guards[x.labels.position(point[domain.name])].is_false:
                return False
        elif x.value is not None and x.value != F(point[domain.name]):
            return False
    return True


@settings(max_examples=60, derandomize=True)
@given(
    st.one_of(questions(forests), questions(linear_models)),
    st.sampled_from(list(NORMS)),
    st.lists(st.sampled_from(list(CONSTRAINTS)), max_size=1),
    st.booleans(),
    st.data(),
)
def test_a_point_satisfies_the_formula_iff_it_qualifies(
    asked: Asked, distance: str, constraints: list[str], use_cells: bool, data: Any
) -> None:
    query = make_query(
        asked.program, asked.space, asked.own, target=asked.target, distance=distance,
        subject_to=constraints,
    )  # fmt: skip
    assume(all(not domain.rounding for domain in query.domains))  # else points have some slack
    metric = norm(asked.space, *NORMS[distance])
    grid = list(product(*(all_values(f, asked.own[f.name]) for f in asked.space)))
    chosen = data.draw(st.lists(st.sampled_from(grid), min_size=1, max_size=4))
    points = [dict(zip(asked.space.names, row, strict=True)) for row in chosen]
    for point in points:
        steps = [delta(f, point[f.name], asked.own[f.name]) for f in asked.space]
        own = metric(steps, point, asked.own)
        outcome = evaluate(asked.program, point)
        qualifies = (
            hit(asked.target, outcome)
            and all(point[f.name] in allowed_values(f, asked.own[f.name]) for f in asked.space)
            and all(CONSTRAINTS[text](point, asked.own) for text in constraints)
        )
        for radius in {own, own / 2, own + F(1, 100), F(1)}:
            encoding = Encoder(query, use_cells).encode(radius)
            expected = qualifies and own <= radius
            if in_window(encoding, query, point):
                near = nearest(encoding, point)
                steps = [delta(f, near[f.name], asked.own[f.name]) for f in asked.space]
                reached = metric(steps, near, asked.own)
                assert reached <= own
                found = holds(encoding, query, point)
                assert found == (qualifies and reached <= radius), (point, near, radius)
            else:
                assert not expected, (point, radius)


@settings(max_examples=150, derandomize=True)
@given(
    st.one_of(questions(forests), questions(linear_models), questions(networks)),
    st.sampled_from(list(NORMS)),
    st.sampled_from([F(1, 10), F(1, 3), F(1, 2), F(1)]),
    st.booleans(),
    st.sampled_from([None, 1, 4, 16]),
)
def test_satisfiable_iff_some_point_qualifies(
    asked: Asked, distance: str, radius: Fraction, use_cells: bool, bits: int | None
) -> None:
    """At any radius, and just where the nearest point comes in."""
    query = make_query(
        asked.program, asked.space, asked.own, target=asked.target, distance=distance
    )
    values = [allowed_values(f, asked.own[f.name]) for f in asked.space]
    assume(prod(map(len, values)) <= 200)
    optimum = enumerate_values(asked, norm(asked.space, *NORMS[distance]), values)
    rounds = any(let.op.name == "round_float32" for let in asked.program.lets())
    slack = rounds or any(domain.rounding for domain in query.domains)
    for size in [radius] if optimum is None else [radius, optimum, optimum * F(999, 1000)]:
        some = optimum is not None and optimum <= size
        encoding = Encoder(query, use_cells).encode(size, bits=bits)
        if encoding.is_refuted:
            assert not some, size
            continue
        answer = backend("z3").check(encoding.pool, encoding.assertions, 10)
        assert answer.status == "sat" or not some, size
        if answer.status == "sat":
            point = encoding.lift(answer.model)
            assert all(is_admissible(domain, point[domain.name]) for domain in query.domains)
            if not encoding.coarse and not slack:
                assert some, size
                assert hit(asked.target, evaluate(asked.program, point))
                assert query.distance_to(point) <= size


# -- by hand ---------------------------------------------------------------------------------------

SPACE = FeatureSpace(
    (
        Feature("n", "integer", lower=F(0), upper=F(10)),
        Feature("r", "real", lower=F(0), upper=F(1)),
        Feature("c", "categorical", labels=("x", "y", "z")),
    )
)
OWN: Point = {"n": 5, "r": F(1, 2), "c": "x"}


HERE = {"c=0": True, "c=1": False, "c=2": False}


def by_hand(text: str, **options: Any) -> Query:
    program = compile_program(
        f'program p(n: Int, r: Real, c: Category{{"x", "y", "z"}}) {{ {text} }}'
    )
    return make_query(program, SPACE, OWN, target=(1, None), **options)


def test_comparisons_alone_become_cells() -> None:
    text = 'if n <= 2 || r > 0.75 || c == "z" then return value = 1 else return value = 0'
    assert Encoder(by_hand(text)).encode(F(1)).cells is not None
    assert Encoder(by_hand(text), use_cells=False).encode(F(1)).cells is None


TWO = "if n <= 2 then return value = 1 else return value = 0"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(TWO.replace("n <= 2", "n + r > 7"), {}, id="a sum"),
        pytest.param(TWO.replace("n <= 2", "abs(n - r) > 8"), {}, id="a difference"),
        pytest.param(TWO, {"subject_to": ["n <= 3 * r"]}, id="a constraint that adds"),
        pytest.param(TWO, {"distance": "return delta[1]"}, id="a distance of the user's own"),
    ],
)
def test_arithmetic_needs_numbers(text: str, options: dict[str, Any]) -> None:
    encoding = Encoder(by_hand(text, **options)).encode(F(1))
    assert encoding.cells is None
    assert not encoding.is_refuted


def test_small_balls_are_refuted_by_bounds_alone() -> None:
    query = by_hand("if n <= 2 then return value = 1 else return value = 0")
    nearest = F(3, 10) / 3
    assert Encoder(query).encode(nearest * F(99, 100)).is_refuted
    assert not Encoder(query).encode(nearest).is_refuted


def test_lifting_a_partial_model() -> None:
    """What the solver never saw keeps the factual's side, or any value of its range."""
    text = "if n <= 2 || r > 0.75 then return value = 1 else return value = 0"
    query = by_hand(text)
    for use_cells in (True, False):
        encoding = Encoder(query, use_cells).encode(F(1))
        point = encoding.lift(HERE)
        assert not [d.name for d in query.domains if not is_admissible(d, point[d.name])]
        assert type(point["n"]) is int
        assert type(point["r"]) is Fraction
    encoding = Encoder(query).encode(F(1))
    assert encoding.lift(HERE) == OWN


def test_snapping_to_the_nearest_admissible_value() -> None:
    space = SPACE.replace("r", resolution=F(1, 4))
    program = compile_program(
        'program p(n: Int, r: Real, c: Category{"x", "y", "z"}) '
        "{ if n + r > 7 then return value = 1 else return value = 0 }"
    )
    query = make_query(program, space, OWN, target=(1, None))
    encoding = Encoder(query).encode(F(1))
    for raw, snapped in ((F(2, 10), F(1, 4)), (F(9, 10), F(1)), (F(1, 2), F(1, 2))):
        x = encoding.inputs["r"]
        assert encoding.lift({**HERE, x.data: raw})["r"] == snapped


def test_margins_shrink_the_target() -> None:
    query = by_hand("if n > 7 then return value = 1.25 else return value = 0")
    assert not Encoder(query).encode(F(1), F(1, 4)).is_refuted
    assert Encoder(query).encode(F(1), F(1, 2)).is_refuted


def test_pools_are_not_shared() -> None:
    encoder = Encoder(by_hand("if n <= 2 then return value = 1 else return value = 0"))
    first, second = encoder.encode(F(1)), encoder.encode(F(1))
    assert isinstance(first.pool, Pool)
    assert first.pool is not second.pool

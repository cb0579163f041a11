"""Linear stand-ins of models: exact pieces of every kind, surrogates, maps, and their moments."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import PolynomialFeatures

import cfxc
from cfxc import DataTypeError, FeatureSpace, InvalidInputError, UnsupportedError, retrained
from cfxc.ir import REAL, Builder, Literal, evaluate, ops
from cfxc.methods.plans import (
    local_linear,
    local_moments,
    mapped,
    plan_matrix,
    surrogate,
    validity_bounds,
)
from tests.solvers.grids import sampled
from tests.solvers.kinds import KINDS, SMOOTH, SPACES, outcome_of, task, trained

F = Fraction


def truth(model: cfxc.CompiledModel, target: Any, point: Any) -> Fraction | None:
    """The margin by definition, from the model's own exact outputs; ``None`` if it has no score."""
    found = evaluate(model.program, point)
    if target.is_range:
        ends = [found["value"] - target.lower] if target.lower is not None else []
        ends += [target.upper - found["value"]] if target.upper is not None else []
        return F(min(ends))
    if "score" not in found:
        return None
    place = model.program.output_sorts["label"].labels.position(target.label)
    score = found["score"]
    if not np.ndim(score):
        return F(score) if place else -F(score)
    return F(score[place] - max(v for i, v in enumerate(score) if i != place))


def near(space: FeatureSpace, point: Any, count: int, seed: int) -> list[dict[str, Any]]:
    """Points that differ from one in a feature or two, by any rational."""
    rng, (others, _) = np.random.default_rng(seed), sampled(space, count, seed)
    found = []
    for other in others:
        moved = dict(point)
        for feature in rng.permutation(list(space))[: rng.integers(1, 3)]:
            moved[feature.name] = other[feature.name]
            if feature.kind == "real" and rng.random() < 0.7:
                step = F(int(rng.integers(-99, 99)), 700) * feature.range
                moved[feature.name] = point[feature.name] + step
        found.append(moved)
    return found


@pytest.mark.parametrize("kind", [*KINDS, *SMOOTH])
def test_a_piece_is_the_program(kind: str) -> None:
    estimator, space, model = trained(kind)
    met = 0
    for seed in range(3):
        asked = task(estimator, space, outcome_of(kind), seed)
        piece = local_linear(model, asked.row, target=asked.target)
        assert piece.is_exact == (kind not in SMOOTH)
        assert piece.covers(asked.row)
        assert piece.margin(asked.row) < 0 or (piece.strict and piece.margin(asked.row) == 0)
        point = dict(piece.row)
        expected = truth(model, piece.target, point)
        assert expected in (None, piece.margin(asked.row))
        if kind in SMOOTH:
            continue
        sampled_points, _ = sampled(space, 60, seed + 9)
        for other in [*near(space, point, 60, seed), *sampled_points]:
            z = piece.coordinates.at(other)
            if not all(each.holds(z) for each in piece.region):
                continue
            met += 1
            products = (a * x for a, x in zip(piece.coefficients, z, strict=True))
            margin = sum(products, piece.intercept)
            expected = truth(model, piece.target, other)
            assert expected in (None, margin)
            found = evaluate(model.program, other)
            reached = piece.target.holds(found.get("label", found.get("value")))
            assert reached == (margin > 0 if piece.strict else margin >= 0)
    assert kind in SMOOTH or met > 20


def test_a_tangent_is_right_to_first_order() -> None:
    estimator, space, model = trained("tanh network")
    asked = task(estimator, space, "two", 0)
    piece = local_linear(model, asked.row, target=asked.target)
    errors = []
    for step in (F(1, 100), F(1, 1000)):
        other = {**piece.row, "rate": piece.row["rate"] + step}
        z = piece.coordinates.at(other)
        products = (a * x for a, x in zip(piece.coefficients, z, strict=True))
        expected = truth(model, piece.target, other)
        assert expected is not None
        errors.append(abs(float(sum(products, piece.intercept) - expected)))
    assert errors[1] < errors[0] / 50  # of second order: about 1/100


@pytest.mark.parametrize("kind", ["logistic", "logistic plain", "svc"])
def test_linear_models_are_one_piece(kind: str) -> None:
    """θ and the matrix of rows say what the model says of everybody, so bounds are its own."""
    estimator, space, model = trained(kind)
    _, table = sampled(space, 80, 3)
    row = table[model.predict(table) == 0].iloc[[0]]
    piece = local_linear(model, row, target=1)
    assert (piece.region, piece.sides) == ((), ())
    matrix = plan_matrix(space, table)
    assert matrix.shape == (80, len(piece.names) + 1)
    scores = estimator.decision_function(table)
    np.testing.assert_allclose(matrix @ piece.theta, scores, atol=1e-9)
    lower, _ = validity_bounds(
        matrix[scores > 0.1][:1], piece.theta, 1e-6 * np.eye(len(piece.theta)), 0.0
    )
    assert lower > 0.99


def test_moments_of_retrained_networks() -> None:
    space = SPACES["numbers"]
    _, table = sampled(space, 120, 5)
    y = (table.kids + 3 * table.narrow > 4).astype(int)
    network = MLPClassifier((4,), solver="lbfgs", max_iter=80, random_state=0)
    models = retrained(network, table, y, 5, space=space)
    row = table[models[0].predict(table) == 0].iloc[[0]]
    moments = local_moments(models, row)
    thetas = np.array([local_linear(each, row, target=1).theta for each in models])
    np.testing.assert_allclose(moments.mean, thetas.mean(axis=0))
    np.testing.assert_allclose(moments.covariance, np.cov(thetas.T))
    plan = plan_matrix(space, table.iloc[:2])
    lower, upper = validity_bounds(plan[:1], moments.mean, moments.covariance, 0.01)
    assert 0 <= lower <= upper <= 1
    by = local_moments(models, row, by=surrogate, samples=200, random_state=1)
    assert by.mean.shape == moments.mean.shape
    assert len(by.stand_ins) == 5


def test_surrogates_of_linear_and_other_models() -> None:
    space = SPACES["mixed"]
    _, _, model = trained("logistic")
    _, table = sampled(space, 60, 1)
    row = table[model.predict(table) == 0].iloc[[0]]
    fitted = surrogate(model, row, target=1, random_state=3)
    again = surrogate(model, row, target=1, random_state=3)
    assert (fitted.theta == again.theta).all()
    assert fitted.agreement > 0.93
    assert fitted.agreement > fitted.baseline
    assert fitted.r2 > 0.8
    assert fitted.agrees_at_row
    piece = local_linear(model, row, target=1)
    cosine = fitted.coefficients @ piece.theta[:-1]
    cosine /= np.linalg.norm(fitted.coefficients) * np.linalg.norm(piece.theta[:-1])
    assert cosine > 0.8  # ridge shrinks, and the sigmoid bends
    for kind in ("forest", "tree of 3", "least squares", "svc"):
        other, own, compiled = trained(kind)
        asked = task(other, own, outcome_of(kind), 0)
        found = surrogate(compiled, asked.row, target=asked.target, samples=800)
        assert found.agreement >= 0.6
        assert found.names == local_linear(compiled, asked.row, target=asked.target).names
    exact = surrogate(trained("ridge")[2], task(*trained("ridge")[:2], "value", 0).row,
                      target=(0.0, None), ridge=1e-9)  # fmt: skip
    assert exact.r2 == pytest.approx(1)  # a linear margin is found


def test_perturbed_rows_are_of_the_space() -> None:
    from cfxc.methods.plans.surrogate import _perturbed

    for space in SPACES.values():
        points, _ = sampled(space, 1, 2)
        columns, weights = _perturbed(space, points[0], 500, 0.5, 1.0, np.random.default_rng(0))
        assert ((weights > 0) & (weights <= 1)).all()
        for feature in space:
            column = columns[feature.name]
            assert len(np.unique(column)) > 1
            if feature.is_symbolic:
                assert set(column) <= set(range(len(feature.labels)))
                continue
            low, high = map(float, feature.bounds)
            assert (column >= low).all()
            assert (column <= high).all()
            if feature.kind != "real":
                assert (column == np.rint(column)).all()
            elif feature.resolution:
                steps = column / float(feature.resolution)
                assert np.abs(steps - np.rint(steps)).max() < 1e-9


def test_feature_maps() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    phi = PolynomialFeatures(2).fit(X)
    y = (X.a**2 + X.b > 1).astype(int)
    model = LogisticRegression(C=1e4, fit_intercept=False).fit(phi.transform(X), y)
    plan = mapped(X, phi)
    assert plan.shape == (60, 6)
    assert ((plan @ model.coef_[0] >= 0) == model.predict(phi.transform(X))).all()
    np.testing.assert_allclose(mapped(X.to_numpy(), lambda rows: rows**2), X.to_numpy() ** 2)
    with pytest.raises(InvalidInputError, match="depends on the other rows"):
        mapped(X, lambda rows: rows - rows.mean())
    with pytest.raises(InvalidInputError, match="1 vectors for 60 rows"):
        mapped(X, lambda rows: rows.iloc[:1])
    with pytest.raises(InvalidInputError, match="holds nan"):
        mapped(X, lambda rows: rows * np.nan)
    with pytest.raises(DataTypeError, match="phi is a function"):
        mapped(X, 3)


def test_bad_input() -> None:
    estimator, space, model = trained("logistic")
    _, table = sampled(space, 5, 0)
    row = table.iloc[[0]]
    with pytest.raises(DataTypeError, match="compile it first"):
        local_linear(estimator, row)
    with pytest.raises(DataTypeError, match="compile it first"):
        surrogate(estimator, row)
    with pytest.raises(InvalidInputError, match="no outcome"):
        local_linear(model, row, target=7)
    with pytest.raises(InvalidInputError, match="at least two models, not 1"):
        local_moments([model], row)
    with pytest.raises(InvalidInputError, match=r"models\[1\] is compiled over another space"):
        local_moments([model, trained("ridge")[2]], row)
    with pytest.raises(DataTypeError, match="list of compiled models"):
        local_moments(3, row)
    for options, message in [
        ({"samples": 1}, "samples"),
        ({"spread": 0}, "spread"),
        ({"width": -1}, "width"),
        ({"ridge": 0}, "ridge"),
        ({"width": 1e-6, "samples": 5}, "no drawn row has any weight"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            surrogate(model, row, **options)
    with pytest.raises(DataTypeError, match="DataFrame"):
        plan_matrix(space, row.iloc[0])
    with pytest.raises(InvalidInputError, match="no rows"):
        plan_matrix(space, row.iloc[:0])


def test_single_precision_has_no_piece() -> None:
    space = FeatureSpace((cfxc.Feature("x", "real", lower=F(0), upper=F(4)),))
    builder = Builder("single")
    value = builder.let(
        ops.Mul(builder.let(ops.RoundFloat32(builder.input("x", REAL))), Literal(2))
    )
    predictor: Any = None
    model = cfxc.CompiledModel(builder.build(value=value), space, predictor)
    with pytest.raises(UnsupportedError, match="float32"):
        local_linear(model, {"x": 1.0}, target=(3, None))
    fitted = surrogate(model, {"x": 1.0}, target=(3, None))
    assert fitted.r2 > 0.99

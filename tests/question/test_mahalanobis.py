"""The Mahalanobis distance: its definition, and data that define none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import mahalanobis
from sklearn.covariance import LedoitWolf, MinCovDet

from cfxc import FeatureSpace, Mahalanobis
from cfxc.errors import CfxcError, DataTypeError, InvalidInputError, MissingColumnError
from cfxc.ir import Builder
from cfxc.question.distances import resolve_distance
from cfxc.question.query import Query, make_query
from cfxc.space.inputs import declare_inputs


def table(rows: int = 80, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    pay = rng.normal(30, 8, rows)
    return pd.DataFrame(
        {"pay": pay, "rent": pay / 3 + rng.normal(0, 1, rows), "age": rng.integers(20, 60, rows)}
    )


def query(spec: object, space: FeatureSpace, row: pd.DataFrame) -> Query:
    builder = Builder("pay")
    declare_inputs(builder, space)
    program = builder.build(value="pay")
    return make_query(program, space, space.encode_row(row), target=(10**6, None), distance=spec)


@pytest.mark.parametrize("estimator", [None, LedoitWolf(), MinCovDet(random_state=0)])
def test_numbers_as_scipy_has_it(estimator: object) -> None:
    frame = table()
    space = FeatureSpace.infer(frame)
    ranges = np.array([float(feature.range) for feature in space])
    spec = Mahalanobis(frame) if estimator is None else Mahalanobis(frame, estimator)  # type: ignore[arg-type]
    scaled = frame.to_numpy(dtype=float) / ranges
    sigma = np.cov(scaled.T, bias=True) if estimator is None else estimator.fit(scaled).covariance_  # type: ignore[attr-defined]
    whitening = resolve_distance(spec, space).whitening
    assert whitening is not None
    for i, k in ((0, 1), (3, 70), (9, 9)):
        own, x = (space.encode_row(frame.iloc[[row]]) for row in (i, k))
        square = sum((part * part for part in whitening.parts(space, x, own)), Fraction(0))
        expected = mahalanobis(scaled[i], scaled[k], np.linalg.inv(sigma))
        assert float(square) ** 0.5 == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_program_says_what_the_parts_say() -> None:
    frame = table().assign(city=["Bonn", "Trier", "Köln", "Bonn"] * 20, grade=[1, 2, 3, 4, 5] * 16)
    frame["grade"] = pd.Categorical(frame["grade"], ordered=True)
    space = FeatureSpace.infer(frame)
    spec = Mahalanobis(frame)
    for i in range(4):
        asked = query(spec, space, frame.iloc[[i]])
        x = space.encode_row(frame.iloc[[i + 40]])
        whitening = asked.distance.whitening
        assert whitening is not None
        parts = whitening.parts(space, x, asked.factual)
        assert asked.distance_to(x) == sum((part * part for part in parts), Fraction(0)) > 0
        assert asked.distance_to(asked.factual) == 0


def test_which_label_is_left_out_does_not_matter() -> None:
    frame = table().assign(city=["Bonn", "Trier", "Köln", "Bonn"] * 20)
    found = []
    for labels in (("Bonn", "Trier", "Köln"), ("Köln", "Bonn", "Trier")):
        space = FeatureSpace.infer(frame).replace("city", labels=labels)
        asked = query(Mahalanobis(frame), space, frame.iloc[[0]])
        found.append(
            [float(asked.distance_to(space.encode_row(frame.iloc[[k]]))) for k in range(9)]
        )
    assert found[0] == pytest.approx(found[1], rel=1e-9)


@pytest.mark.parametrize(
    ("frame", "error", "says"),
    [
        (table().drop(columns="age"), MissingColumnError, "age"),
        (table(1), InvalidInputError, "at least two rows"),
        (table().assign(age=30), InvalidInputError, "age does not vary in the data"),
        (
            table().assign(rent=lambda t: t["pay"] / 2),
            InvalidInputError,
            "columns depend on each other: pay, rent",
        ),
        (table().assign(pay=np.nan), CfxcError, "pay"),
    ],
)
def test_data_that_define_none(frame: pd.DataFrame, error: type[Exception], says: str) -> None:
    space = FeatureSpace.infer(table())
    with pytest.raises(error, match=says):
        resolve_distance(Mahalanobis(frame), space)


def test_shrinkage_has_room_for_what_depends() -> None:
    frame = table().assign(rent=lambda t: t["pay"] / 2)
    distance = resolve_distance(Mahalanobis(frame, LedoitWolf()), FeatureSpace.infer(frame))
    assert distance.is_squared
    assert distance.whitening is not None


def test_other_refusals() -> None:
    space = FeatureSpace.infer(table())
    with pytest.raises(DataTypeError, match="takes a DataFrame of rows, not ndarray"):
        Mahalanobis(table().to_numpy())  # type: ignore[arg-type]
    with pytest.raises(DataTypeError, match=r"an estimator of sklearn.covariance, not str"):
        Mahalanobis(table(), "shrunk")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"needs data: distance=cfxc.Mahalanobis\(X\)"):
        resolve_distance("mahalanobis", space)
    with pytest.raises(InvalidInputError, match="weights of features have no meaning"):
        resolve_distance(Mahalanobis(table()), space.replace("age", weight=2))
    same = table().assign(pay=1.5, rent=1.5, age=30)
    with pytest.raises(InvalidInputError, match="no feature varies"):
        resolve_distance(Mahalanobis(same), FeatureSpace.infer(same))
    assert repr(Mahalanobis(table())) == "Mahalanobis(80 rows, EmpiricalCovariance())"

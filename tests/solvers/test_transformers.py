"""Behind every family of transformers: what is nearest by enumeration, and certified if it may be.

Products of columns are for SMT alone; trees over columns that mix features, and products, have no
certificates.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier, RandomTreesEmbedding
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import UnsupportedError
from cfxc.space import Feature
from tests.solvers.grids import NORMS, Point, brute_force, norm, sampled

SPACE = FeatureSpace(
    (
        Feature("visits", "integer", lower=Fraction(0), upper=Fraction(7)),
        Feature("spent", "real", lower=0.5, upper=4.0, resolution="0.5"),
        Feature("change", "real", lower=-1.0, upper=1.0, resolution="0.25"),
    )
)


def linear() -> Any:
    return LogisticRegression(C=10.0, max_iter=500)


def forest() -> Any:
    return RandomForestClassifier(6, max_depth=4, random_state=0)


#: name → (transformer, model)
CASES: dict[str, tuple[Any, Any]] = {
    "scaled": (RobustScaler(), linear()),
    "selected": (SelectKBest(k=2), linear()),
    "projected": (PCA(2), linear()),
    "discriminant": (LinearDiscriminantAnalysis(), linear()),
    "projected trees": (PCA(2), forest()),
    "one-hot bins": (KBinsDiscretizer(3, encode="onehot-dense"), linear()),
    "bins": (KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), forest()),
    "binary": (Binarizer(threshold=0.75), linear()),
    "quantiles": (QuantileTransformer(n_quantiles=6), linear()),
    "quantiles of trees": (QuantileTransformer(n_quantiles=6), forest()),
    "normal": (QuantileTransformer(n_quantiles=9, output_distribution="normal"), forest()),
    "power": (PowerTransformer(), forest()),
    "splines": (SplineTransformer(degree=1, n_knots=3), linear()),
    "folded": (FunctionTransformer(np.abs), linear()),
    "folded trees": (
        make_pipeline(StandardScaler(), FunctionTransformer(np.square)), forest(),
    ),
    "floors": (FunctionTransformer(np.floor), linear()),
    "fallen": (FunctionTransformer(np.negative), forest()),
    "union": (
        FeatureUnion([("k", KBinsDiscretizer(2, encode="onehot-dense")), ("p", PCA(1))]),
        linear(),
    ),
    "leaves": (RandomTreesEmbedding(3, max_depth=2, random_state=0), linear()),
    "products": (PolynomialFeatures(2, interaction_only=True), forest()),
}  # fmt: skip


def fitted(name: str) -> tuple[Any, Any, list[Point]]:
    transformer, model = CASES[name]
    points, table = sampled(SPACE, 150, 0)
    worth = table["visits"] / 3 + table["spent"] - 2 * table["change"] ** 2
    noise = np.random.default_rng(1).normal(size=len(table)) / 4
    return make_pipeline(transformer, model).fit(table, worth + noise > 2.5), table, points


@pytest.mark.parametrize("name", CASES)
def test_the_nearest_by_enumeration(name: str, tmp_path: Any) -> None:
    model, table, points = fitted(name)
    compiled = cfxc.compile(model, SPACE)
    labels = model.predict(table).tolist()
    for distance in ("l1", "l0"):
        place = labels.index(False) if distance == "l1" else labels.index(True)
        wanted = not labels[place]
        metric = norm(SPACE, *NORMS[distance])
        best = brute_force(
            SPACE, points[place], model.predict, lambda label, w=wanted: label == w, metric
        )
        answer = compiled.explain(
            table.iloc[[place]], target=wanted, distance=distance, epsilon=1e-6, time_limit=60
        )
        assert answer.status == "optimal"
        assert abs(answer.distance - best[0].distance) <= 1e-6 * best[0].distance
        assert model.predict(answer.counterfactual)[0] == wanted
        answer.certificate.save(tmp_path / "certificate.json")
        assert cfxc.check(tmp_path / "certificate.json").ok


def test_tables_of_whole_numbers_before_linear_models() -> None:
    """Logarithms and splines of whole numbers are tables: exact, also at their neighbours."""
    space = FeatureSpace(
        tuple(Feature(name, "integer", lower=Fraction(1), upper=Fraction(9)) for name in ("a", "b"))
    )
    points, table = sampled(space, 100, 1)
    target = np.log(table["a"]) + np.sqrt(table["b"]) > 3.5
    for transformer in (
        FunctionTransformer(np.log),
        FunctionTransformer(np.sqrt),
        PowerTransformer(method="box-cox"),
        SplineTransformer(degree=3, n_knots=3),
        QuantileTransformer(n_quantiles=8, output_distribution="normal"),
    ):
        model = make_pipeline(transformer, linear()).fit(table, target)
        place = model.predict(table).tolist().index(False)
        metric = norm(space, *NORMS["l1"])
        best = brute_force(space, points[place], model.predict, bool, metric)
        answer = cfxc.compile(model, space).explain(
            table.iloc[[place]], target=True, distance="l1", epsilon=1e-6
        )
        assert answer.status == "optimal"
        assert abs(answer.distance - best[0].distance) <= 1e-6 * best[0].distance


def test_engines_refuse_by_name_what_they_cannot_take() -> None:
    model, table, _ = fitted("products")
    row = table.iloc[[model.predict(table).tolist().index(False)]]
    compiled = cfxc.compile(model, SPACE)
    with pytest.raises(
        UnsupportedError, match="splits a column that is no cut or choice of one feature"
    ):
        compiled.explain(row, target=True, method="box")
    _, table = sampled(SPACE, 100, 0)
    model = make_pipeline(Normalizer("l1"), linear()).fit(table, table["spent"] > 2)
    row = table.iloc[[model.predict(table).tolist().index(False)]]
    with pytest.raises(UnsupportedError, match=r"'normalizer'.*division by something other"):
        cfxc.compile(model, SPACE).explain(row, target=True)

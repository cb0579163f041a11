"""Products of forms: what a certificate says of them holds, and what is false is rejected."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import cfxc
from cfxc import FeatureSpace
from cfxc.certificates import checker as check
from cfxc.certificates.checker import Rejected
from cfxc.errors import UnsupportedError
from cfxc.space import Feature
from tests.certificates.false_claims import asked
from tests.certificates.oracle import is_true
from tests.certificates.written import certificate, number, question

F = Fraction
SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "certificate.schema.json"
X, Y = [[["x", 0], "1"]], [[["x", 1], "1"]]
FORMS = [["form", X], ["form", Y]]
TIMES = [[["product", 2], "1"], [["one", 0], "-6"]]


def asking(made: Any, outputs: Any, own: int = 1, **more: Any) -> dict[str, Any]:
    """Two whole numbers from 0 to 4, of which both are ``own``."""
    features = [number(name, own, 0, 4, step=1, width=0) for name in "ab"]
    return question(features, outputs, made=made, **more)


ASKED = asking([*FORMS, ["product", 0, 1]], [TIMES])
"""a b >= 6 from (1, 1): (2, 3) is the nearest, 3 of 8 steps away."""


def claimed(nodes: Any, radius: str = "3/8", content: Any = ASKED, **more: Any) -> dict[str, Any]:
    proof = {"radius": radius, "lemmas": more.pop("lemmas", []), "nodes": nodes}
    claim = {"status": "optimal", "distance": "3/8", "bound": radius, "witness": ["2", "3"], **more}
    return certificate(content, proof, **claim)


ONE_CUT = [
    ["cut", 0, "1", 1, 2],
    ["bound", "0", [["row", 0, "1"]], []],  # a b is 4 at most
    ["cut", 0, "2", 3, 4],
    ["bound", "16", [["row", 0, "1"], ["under", 2, "1", "2", "0"]], []],  # a is 2: a b <= 2 b
    ["bound", "24", [["row", 0, "1"], ["under", 2, "1", "3", "2"]], []],  # a b <= 2 a + 3 b - 6
]


def test_a_product_by_hand() -> None:
    """Planes above the product, and what the distance leaves."""
    shown = check.check(claimed(ONE_CUT))
    assert shown.status == "optimal"
    assert shown.bound == F(3, 8)
    assert is_true(claimed(ONE_CUT))
    jsonschema.validate(claimed(ONE_CUT), json.loads(SCHEMA.read_text("utf-8")))
    with pytest.raises(Rejected, match="does not close"):
        check.check(claimed([["bound", "0", [["row", 0, "1"]], []]]))


def test_planes_close_what_ranges_leave_open() -> None:
    """s (s - 2) >= 1/2 with s = a - b in [-1, 1]: the chord says s² <= 1, and -2 s <= ..."""
    made = [["form", [*X, [["x", 1], "-1"]]], ["product", 0, 0]]
    content = asking(made, [[[["product", 1], "1"], [["one", 0], "-1/2"]]], own=2)
    proof = asked(content, F(1, 2))
    parts = [(F(2), F(3)), (F(2), F(3))]
    spans = proof.spans(parts, {})
    assert spans == [(-1, 1), (0, 1)]
    chord = proof.inequality(("under", 1, F(-1), F(1)), {}, spans)
    assert chord == {("one", 0): 1, ("product", 1): -1, ("form", 0): 0}
    tangent = proof.inequality(("over", 1, F(1), F(1)), {}, spans)
    assert tangent == {("one", 0): 1, ("product", 1): 1, ("form", 0): -2}
    split = proof.halves("at", [0, "1/2"], parts, {})
    assert [proof.spans(here, signs)[0] for here, signs in split] == [(-1, F(1, 2)), (F(1, 2), 1)]


@pytest.mark.parametrize("seed", range(3))
def test_planes_hold_at_every_pair_and_touch(seed: int) -> None:
    """Whatever the slopes, a plane is passed nowhere over the box, and touched somewhere."""
    rng = Random(seed)
    for _ in range(150):
        is_square = rng.random() < 0.4
        made = [*FORMS, ["product", 0, 0 if is_square else 1]]
        outputs = [[[["product", 2], "1"], [["form", 1], "1"]]]
        proof = asked(asking(made, outputs), F(9))
        ends = [sorted(F(rng.randint(-9, 9), 4) for _ in range(2)) for _ in range(2)]
        spans = [*map(tuple, ends), (F(-100), F(100))]
        p, q = (F(rng.randint(-12, 12), 3) for _ in range(2))
        grids = [[low + (high - low) * F(i, 12) for i in range(13)] for low, high in ends]
        grids[0].append(min(max((p + q) / 2, ends[0][0]), ends[0][1]))
        pairs = [(u, u) for u in grids[0]] if is_square else [*product(*grids)]
        for name in ("over", "under"):
            g = proof.inequality((name, 2, p, q), {}, spans)

            def at(u: F, v: F, g: Any = g) -> F:
                made = {("one", 0): 1, ("form", 0): u, ("form", 1): v, ("product", 2): u * v}
                return sum((f * made[source] for source, f in g.items()), F(0))

            assert min(at(u, v) for u, v in pairs) == 0


MALFORMED = [
    ([["product", 0, 1]], "a product of nothing"),
    ([["form", X], ["product", 0, 1], ["form", Y]], "before what it reads"),
    ([["form", X], ["unit", Y], ["product", 0, 1]], "of a unit"),
    ([["form", X], ["product", 0, -1]], "a negative place"),
    ([["form", X], ["product", 0, True]], "no whole number"),
    ([["form", Y], ["form", X], ["product", 0, 1], ["product", 1, True]], "true for 1"),
    ([["form", X], ["product", 0]], "one factor"),
    ([["form", X], ["product", 0, 0, 0]], "three factors"),
    ([["form", X], ["product", X, X]], "of forms as they are"),
    ([["form", X, X], ["product", 0, 0]], "a form of two"),
    ([["form", X], ["form", Y], ["product", 0, 0]], "a form that nothing reads"),
    ([["form", X], ["product", 0, 0], ["product", 0, 0]], "a product that nothing reads"),
]


def why_not(made: Any, products: Any) -> str:
    """Why a program that reads these products is rejected; empty if it is not."""
    content = asking(made, [[[["product", k], "1"] for k in products]])
    try:
        check.check(claimed([["distance"]], "0", content, status="feasible"))
    except Rejected as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("made", "why"), MALFORMED, ids=[why for _, why in MALFORMED])
def test_malformed_products(made: Any, why: str) -> None:
    products = [k for k, (kind, *_) in enumerate(made) if kind == "product"]
    found = why_not(made, products[-1:] if why == "a product that nothing reads" else products)
    assert found.startswith(("program", "malformed", "a place")), found


def test_products_that_are_not_malformed() -> None:
    """What the others miss."""
    assert why_not([["form", Y], ["form", X], ["product", 0, 1], ["product", 1, 1]], [2, 3]) == ""
    assert why_not([["form", X], ["product", 0, 0]], [1]) == ""


ROWS = [
    [["over", 2, "1"]],
    [["over", 2, "1", "0"]],
    [["over", 2, "1", "0", "0", "0"]],
    [["over", 0, "1", "0", "0"]],
    [["row", 0, "1", "0", "0"]],
    [["under", 2, "-1", "0", "0"]],
    [["least", 3, "1"]],
    [["over", 2, "1", "0", "0"], ["over", 2, "1", "0x0.0p+0", "0"]],
]


@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_malformed_multipliers(rows: Any) -> None:
    nodes = [*ONE_CUT[:1], ["bound", "0", [["row", 0, "1"], *rows], []], *ONE_CUT[2:]]
    with pytest.raises(Rejected):
        check.check(claimed(nodes))


@pytest.mark.parametrize(
    "split", [["at", 3, "0"], ["at", -1, "0"], ["at", 0], ["at", 0, 1], ["sign", 0], ["sign", 2]]
)
def test_malformed_splits(split: Any) -> None:
    nodes = [[*split, 1, 2], *[["bound", "0", [["row", 0, "1"]], []]] * 2]
    with pytest.raises(Rejected):
        check.check(claimed(nodes))


def test_growing_products_cost_little() -> None:
    """Squares of squares have twice the digits each time; ranges leave all floats."""
    made: list[Any] = [["form", [[["x", 0], f"{10**900}/{10**899 + 7}"]]]]
    for k in range(0, 60, 2):
        made += [["product", k, k], ["form", [[["product", k + 1], "1"]]]]
    content = asking(made, [[[["form", 60], "1"]]])
    nodes = [["bound", "0", [["row", 0, "1"]], []]]
    with pytest.raises(Rejected, match="limits"):
        check.check(claimed(nodes, content=content))


# -- models ---------------------------------------------------------------------------------------

SPACE = FeatureSpace(
    (
        Feature("a", "integer", lower=0, upper=5),
        Feature("b", "real", lower=-1.0, upper=1.0, resolution="0.25"),
        Feature("c", "integer", lower=0, upper=4),
    )
)
MIX = {"l0": 0.4, "l1": 0.6}
MODELS = {
    "discriminant": QuadraticDiscriminantAnalysis(),
    "naive Bayes": GaussianNB(),
    "products": make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression()),
    "cubes": make_pipeline(PolynomialFeatures(3), LogisticRegression(max_iter=3000)),
    "machine": make_pipeline(StandardScaler(), SVC(kernel="poly", degree=3, coef0=1.0)),
}


def table() -> pd.DataFrame:
    rows = product(range(6), np.arange(-1, 1.25, 0.25), range(5))
    return pd.DataFrame(list(rows), columns=list("abc")).astype({"a": "int64", "c": "int64"})


def curved(rows: pd.DataFrame) -> Any:
    noise = np.random.default_rng(0).normal(scale=0.3, size=len(rows))
    return (rows["a"] - 2) * rows["b"] + rows["c"] ** 2 / 8 - 1 + noise


@pytest.mark.parametrize(
    ("name", "distance"),
    [(name, "l1") for name in MODELS] + [("products", "linf"), ("machine", "l2"), ("cubes", MIX)],
    ids=str,
)
def test_models_with_products_have_certificates(name: str, distance: Any) -> None:
    rows = table()
    model = MODELS[name].fit(rows, (curved(rows) > 0).astype(int))
    compiled = cfxc.compile(model, SPACE)
    said = np.asarray(compiled.predict(rows))
    result = compiled.explain(rows[said == 0].iloc[[7]], target=1, distance=distance)
    content = result.certificate.to_dict()
    found = cfxc.check(content)
    assert found.ok, found.reason
    assert is_true(content)
    jsonschema.validate(content, json.loads(SCHEMA.read_text("utf-8")))
    assert any(kind == "product" for kind, *_ in content["program"]["made"])


def test_a_number_of_products_in_a_range() -> None:
    rows = table()
    model = make_pipeline(PolynomialFeatures(2), Ridge()).fit(rows, curved(rows))
    result = cfxc.compile(model, SPACE).explain(rows.iloc[[3]], target=(1.0, 1.5))
    assert cfxc.check(result.certificate.to_dict()).ok
    assert is_true(result.certificate.to_dict())


def test_exports_write_products_or_refuse_them_by_name(tmp_path: Path) -> None:
    content = claimed(ONE_CUT)
    lower, *_ = cfxc.export(content, "smt2", tmp_path / "c")
    assert "(assert (= product.2 (* form.0 form.1)))" in lower.read_text()
    assert "QF_NIRA" in lower.read_text()
    with pytest.raises(UnsupportedError, match="product"):
        cfxc.export(content, "vipr", tmp_path / "c")

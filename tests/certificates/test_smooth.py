"""Smooth functions: enclosures and certificates of models hold, and what is false does not."""

from __future__ import annotations

import copy
import json
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import mpmath
import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import SVC

import cfxc
from cfxc import FeatureSpace
from cfxc.certificates import checker as check
from cfxc.certificates.checker import Rejected
from cfxc.certificates.checker.smooth import BITS, CURVES, NORM, PLACES, least, over, value
from cfxc.errors import UnsupportedError
from cfxc.space import Feature
from tests.certificates.false_claims import asked
from tests.certificates.mutants import rehashed
from tests.certificates.oracle import is_true
from tests.certificates.written import certificate, number, question

F = Fraction
SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "certificate.schema.json"
ONE = 2**BITS
PRECISE = F(1, 2**120)  # of values, relative to what is above 1


def exact(x: Any) -> F:
    """A number of mpmath as the fraction that it is."""
    sign, digits, power, _ = x._mpf_
    return F(-1 if sign else 1) * F(int(digits)) * F(2) ** power


def sigma(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x)) if x > 0 else mpmath.exp(x) / (1 + mpmath.exp(x))


TRUE: dict[str, tuple[Any, Any]] = {
    "exp": (mpmath.exp, mpmath.exp),
    "sigmoid": (sigma, lambda x: sigma(x) * sigma(-x)),
    "softplus": (lambda x: max(x, 0) + mpmath.log1p(mpmath.exp(-abs(x))), sigma),
    "normal": (
        lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
        lambda x: mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi),
    ),
}


def at(function: Any, x: F) -> F:
    """A function at a rational to some 900 places."""
    with mpmath.workprec(3000):
        return exact(function(mpmath.mpf(x.numerator) / x.denominator))


def numbers(rng: Random, count: int) -> list[F]:
    """Numbers of all sizes, and those at which something changes."""
    found = [F(0), F(5e-324), F(1, 2**170), F(1, 32), F(1), F(8), F(16), F(1023), F(1024)]
    found += [F(16) + F(1, 2**200), F(1, 3), F(10**30 + 1, 10**30), F(700), F(37)]
    found += [F(rng.random() * 10 ** rng.uniform(-30, 3)) for _ in range(count)]
    return [sign * x for x in found for sign in (1, -1)]


@pytest.mark.parametrize("kind", CURVES)
def test_values_and_slopes_are_enclosed(kind: str) -> None:
    function, slope = TRUE[kind]
    for x in numbers(Random(0), 60):
        low, high = value(kind, x, False), value(kind, x, True)
        assert low <= at(function, x) <= high, x
        assert high - low <= PRECISE * max(F(1), high), x
        place = over(x.numerator * ONE, x.denominator, False)
        ends = [F(CURVES[kind].slope(place, up), ONE) for up in (False, True)]
        assert ends[0] <= at(slope, F(place, ONE)) <= ends[1], x
        assert ends[0] >= 0
        steepest = CURVES[kind].steepest
        assert steepest is None or ends[1] <= steepest + F(1, 2**150), x


def test_the_constant_of_the_normal_law() -> None:
    with mpmath.workprec(400):
        wanted = exact(1 / mpmath.sqrt(2 * mpmath.pi))
    assert NORM < wanted * PLACES < NORM + 1


@pytest.mark.parametrize("kind", CURVES)
def test_far_out(kind: str) -> None:
    """Where values are no doubles any more they are still enclosed, or refused: never wrong."""
    far = F(2) ** 1023
    assert value(kind, -far, False) == 0 <= value(kind, -far, True) <= F(1, 2**100)
    if kind == "exp":
        for x in (F(1024) + F(1, 2**100), far):
            for up in (False, True):
                with pytest.raises(Rejected, match="limits"):
                    value(kind, x, up)
    elif kind == "softplus":
        assert far <= value(kind, far, False) <= value(kind, far, True) <= far + F(1, 2**100)
    else:
        assert 1 - F(1, 2**100) <= value(kind, far, False) <= 1 == value(kind, far, True)
    for x in (F(2) ** 1024, -(F(10) ** 900)):
        with pytest.raises(Rejected, match="limits"):
            value(kind, x, True)


def intervals(rng: Random, kind: str, count: int) -> list[tuple[F, F]]:
    """Wide and narrow ones, of width 0 too, on all sides of 0."""
    ends = [x for x in numbers(rng, 20) if kind != "exp" or x <= 600]
    found = []
    for _ in range(count):
        low, high = sorted(rng.sample(ends, 2))
        how = rng.random()
        if how < 0.2:
            high = low
        elif how < 0.4:
            high = low + F(rng.random() * 10 ** rng.uniform(-25, 0))
        found.append((low, high))
    return found


@pytest.mark.parametrize("kind", CURVES)
def test_lines_are_passed_nowhere(kind: str) -> None:
    """Whatever slope and place, and on both sides: side (f(t) - slope t) is not below the bound."""
    rng = Random(1)
    for low, high in intervals(rng, kind, 60):
        tangent = CURVES[kind].slope(over(low.numerator * ONE, low.denominator, False), True)
        slopes = [F(0), F(tangent, ONE), F(-3), F(rng.uniform(-1, 1)), F(10) ** 40]
        rise = value(kind, high, True) - value(kind, low, False)
        slopes += [rise / (high - low)] if high > low else []
        ts = {low, high, *(low + (high - low) * F(i, 7) for i in range(8))}
        ts |= {F(0)} if low <= 0 <= high else set()
        values = {t: at(TRUE[kind][0], t) for t in ts}
        for slope, side in product(slopes, (F(1), F(-1))):
            place = rng.choice((low, high, (low + high) / 2, F(10) ** 300, -(F(10) ** 300), F(0)))
            bound = least(kind, side, slope, place, low, high)
            for t, f in values.items():
                assert side * (f - slope * t) >= bound, (low, high, slope, place, side, t)


@pytest.mark.parametrize("kind", CURVES)
def test_lines_that_touch_are_tight(kind: str) -> None:
    """A tangent on the curved side loses nothing that matters, and so does a chord."""
    for low, high in ((F(1, 4), F(3)), (F(-3), F(-1, 4))):
        is_convex = CURVES[kind].convex[0 if high < 0 else 1]
        side, place = F(1 if is_convex else -1), (low + high) / 2
        at_place = over(place.numerator * ONE, place.denominator, False)
        slope = F(CURVES[kind].slope(at_place, False), ONE)
        touched = side * (at(TRUE[kind][0], place) - slope * place)
        assert touched - least(kind, side, slope, place, low, high) < F(1, 2**110)
        chord = (value(kind, high, False) - value(kind, low, False)) / (high - low)
        ended = -side * (at(TRUE[kind][0], low) - chord * low)
        assert ended - least(kind, -side, chord, place, low, high) < F(1, 2**110)


# -- certificates by hand -------------------------------------------------------------------------

X = [["form", [[["x", 0], "1"]]]]


def asking(kind: str, limit: str, own: int = 0, sign: str = "1", **more: Any) -> dict[str, Any]:
    """A whole number x from -4 to 4: is ``sign f(x)`` at least the limit?"""
    features = [number("a", own, -4, 4, step=1, width=0)]
    outputs = [[[[kind, 1], sign], [["one", 0], limit]]]
    return question(features, outputs, made=[*X, [kind, [[["form", 0], "1"]]]], **more)


def claimed(content: Any, nodes: Any, radius: str, witness: str, distance: str, **more: Any) -> Any:
    proof = {"radius": radius, "lemmas": more.pop("lemmas", []), "nodes": nodes}
    claim = {"status": "optimal", "distance": distance, "bound": radius, "witness": [witness]}
    return certificate(content, proof, **{**claim, **more})


# f(2) is the first above the limit: from 0, two of eight
LIMITS = {"exp": ("7", "8"), "sigmoid": ("0.88", "0.9"), "softplus": ("2.12", "2.2"),
          "normal": ("0.97", "0.98")}  # fmt: skip


def limit(kind: str, place: int) -> str:
    return f"-{F(LIMITS[kind][place])}"


CUT = [["cut", 0, "1", 1, 2], ["bound", "0", [["row", 0, "1"]], []], ["distance"]]


@pytest.mark.parametrize("kind", CURVES)
def test_by_hand(kind: str) -> None:
    content = asking(kind, limit(kind, 0))
    made = claimed(content, CUT, "1/4", "2", "1/4")
    shown = check.check(made)
    assert shown.status == "optimal"
    assert shown.bound == F(1, 4)
    jsonschema.validate(made, json.loads(SCHEMA.read_text("utf-8")))
    for wrong in (
        claimed(content, CUT, "1/4", "1", "1/8", bound="1/8"),  # the witness misses
        claimed(content, CUT, "3/8", "3", "3/8"),  # 2 is nearer
        claimed(asking(kind, limit(kind, 1)), CUT, "1/4", "2", "1/4"),  # nor is 2 there
        claimed(content, [CUT[1]], "1/4", "2", "1/4"),
        claimed(content, [["cut", 0, "2", 1, 2], *CUT[1:]], "3/8", "3", "3/8"),
    ):
        with pytest.raises(Rejected):
            check.check(wrong)


LINES = [
    ["under", 1, "1", "1/2", "0"],
    ["over", 1, "1/3", "1/7", "100"],
    ["under", 1, "5", "0", f"{10**999}"],
    ["over", 1, "2", "-1", f"-{10**999}/7"],
    ["under", 1, "1", f"{10**999}", "1/3"],
    ["over", 1, "1", f"1/{10**999}", "0"],
]


@pytest.mark.parametrize("kind", CURVES)
def test_no_line_closes_what_holds_a_counterfactual(kind: str) -> None:
    """Of the tightest true question, under every mix of lines and weights."""
    rng = Random(2)
    proof = asked(asking(kind, limit(kind, 0)), F(1, 2))
    for _ in range(300):
        rows = [["row", 0, "1"], *rng.sample(LINES, rng.randint(0, 4))]
        rows = list({(row[0], row[1], *row[3:]): row for row in rows}.values())
        node = [str(F(rng.randint(0, 8), 4)), rows, []]
        low = F(rng.randint(-4, 2))
        assert not proof.closes("bound", node, [(low, F(2))], {})


MALFORMED = [
    ([["form", X[0][1]], ["log", [[["form", 0], "1"]]]], "another function"),
    ([["form", X[0][1]], ["exp"]], "of nothing"),
    ([["form", X[0][1]], ["exp", 0, 0]], "of two"),
    ([["exp", [[["exp", 0], "1"]]]], "of itself"),
    ([["exp", 0]], "of no form"),
]


@pytest.mark.parametrize(("made", "why"), MALFORMED, ids=[why for _, why in MALFORMED])
def test_malformed(made: Any, why: str) -> None:
    content = asking("exp", "-7")
    content["program"]["made"] = made
    content["program"]["outputs"] = [[[[made[-1][0], len(made) - 1], "1"]]]
    with pytest.raises(Rejected, match=r"program|malformed|list"):
        check.check(claimed(content, CUT, "1/4", "2", "1/4"))


@pytest.mark.parametrize(
    "rows",
    [[["over", 1, "1"]], [["over", 1, "1", "0"]], [["over", 0, "1", "0", "0"]],
     [["under", 1, "-1", "0", "0"]], [["chord", 1, "1"]], [["above", 1, "1"]],
     [["over", 1, "1", "0", "0"], ["over", 1, "1", "0x0.0p+0", "0"]]],
)  # fmt: skip
def test_malformed_multipliers(rows: Any) -> None:
    nodes = [CUT[0], ["bound", "0", [["row", 0, "1"], *rows], []], CUT[2]]
    with pytest.raises(Rejected):
        check.check(claimed(asking("exp", "-7"), nodes, "1/4", "2", "1/4"))


def test_towers_of_exponentials_cost_little() -> None:
    """exp of exp of …, of huge and tiny numbers: refused at once, whichever it is."""
    for factor in ("1", "-1", f"{10**999}", f"1/{10**999}", f"-{10**999}"):
        for kind in CURVES:
            content = asking(kind, "-7")
            made: list[Any] = [["form", [[["x", 0], factor]]]]
            for k in range(400):
                made.append([kind, [[[made[-1][0], k], "1"]]])
            content["program"]["made"] = made
            content["program"]["outputs"] = [[[[kind, 400], "1"]]]
            begun = time.process_time()
            with pytest.raises(Rejected):
                check.check(claimed(content, CUT, "1/4", "2", "1/4", bound="2"))
            assert time.process_time() - begun < 8


def test_a_tree_that_tests_what_is_smooth() -> None:
    """At the witness the side is known; of a test that is too near to its value it is not."""
    tree = {"roots": [0], "nodes": [["form", 2, "7", 1, 2], ["-1"], ["1"]]}
    content = asking("exp", "0")
    content["program"] |= {"trees": [tree], "outputs": [[[["tree", 0, 0], "1"]]]}
    content["program"]["made"].append(["form", [[["exp", 1], "1"]]])
    assert check.check(claimed(content, CUT, "1/4", "2", "1/4")).bound == F(1, 4)
    low, high = value("exp", F(2), False), value("exp", F(2), True)
    for near, verdict in ((low - F(1, 2**170), True), (high, False), ((low + high) / 2, False)):
        other = copy.deepcopy(content)
        other["program"]["trees"][0]["nodes"][0][2] = str(near)
        made = claimed(other, CUT, "1/4", "2", "1/4")
        if verdict:
            check.check(made)
            continue
        with pytest.raises(Rejected, match=r"limits: a test|target outcome"):
            check.check(made)


@pytest.mark.parametrize("kind", CURVES)
def test_rounding_needs_a_slack(kind: str) -> None:
    """None of exp, whose slope has no bound; of the others at least what doubles may lose."""
    given = {**asking(kind, limit(kind, 0)), "semantics": "float"}
    del given["semantics"]
    for slack in ("0", "1/1000000000000"):
        content = asking(kind, limit(kind, 0), slack=slack)
        made = claimed(content, CUT, "1/4", "2", "1/4", semantics="float")
        if kind != "exp" and slack != "0":
            assert check.check(made).semantics == "float"
            continue
        with pytest.raises(Rejected, match="slack"):
            check.check(made)


# -- models ---------------------------------------------------------------------------------------

SPACE = FeatureSpace(
    (
        Feature("a", "integer", lower=0, upper=5),
        Feature("b", "real", lower=-1.0, upper=1.0, resolution="0.25"),
        Feature("c", "integer", lower=0, upper=4),
    )
)


def network(activation: str, *hidden: int) -> Any:
    net = MLPClassifier(hidden, activation=activation, max_iter=1500, random_state=0)
    return make_pipeline(StandardScaler(), net)


MODELS = {
    "tanh": network("tanh", 4),
    "logistic": network("logistic", 5),
    "two layers": network("tanh", 3, 3),
    "powers": make_pipeline(
        make_column_transformer((PowerTransformer(), ["a", "c"]), remainder="passthrough"),
        network("logistic", 3),
    ),
    "machine": make_pipeline(StandardScaler(), SVC(kernel="sigmoid")),
    "cut-off": FixedThresholdClassifier(
        GradientBoostingClassifier(n_estimators=30, random_state=0), threshold=0.7
    ),
}


def table() -> pd.DataFrame:
    rows = product(range(6), np.arange(-1, 1.25, 0.25), range(5))
    return pd.DataFrame(list(rows), columns=list("abc")).astype({"a": "int64", "c": "int64"})


def curved(rows: pd.DataFrame) -> Any:
    return (rows["a"] - 2) * rows["b"] + rows["c"] ** 2 / 8 - 1


def away(own: pd.Series, rows: pd.DataFrame, power: int) -> Any:
    """Distances of rows under l1, or l2 squared."""
    return ((rows - own).abs() / [5, 2, 4]).pow(power).sum(axis=1) / 3


@pytest.mark.parametrize(
    ("name", "distance"), [*((name, "l1") for name in MODELS), ("tanh", "l2")], ids=str
)
def test_models_have_certificates(name: str, distance: str) -> None:
    """And what they claim is so of every row there is, as the deployed model decides."""
    rows = table()
    model = MODELS[name].fit(rows, (curved(rows) > 0).astype(int))
    said = model.predict(rows)
    row = rows[said == 0].iloc[[7]]
    result = cfxc.compile(model, SPACE).explain(row, target=1, distance=distance)
    content = result.certificate.to_dict()
    found = cfxc.check(content)
    assert found.ok, found.reason
    assert found.shown is not None
    assert content["semantics"] == "real"
    jsonschema.validate(content, json.loads(SCHEMA.read_text("utf-8")))
    power = 1 if distance == "l1" else 2
    best = away(row.iloc[0], rows[said == 1], power).min()
    assert found.shown.bound <= best + 1e-12
    assert float(found.shown.distance) == pytest.approx(best, abs=1e-9)
    reject_false(content, F(best) + F(1, 10**6))


def reject_false(content: dict[str, Any], more: F) -> None:
    """A higher bound, splits dropped, cuts moved, other weights: none is accepted."""

    def changed(change: Any) -> dict[str, Any]:
        other = copy.deepcopy(content)
        change(other)
        return dict(rehashed(other))

    def turned(other: Any) -> None:
        for output in other["program"]["outputs"]:
            for term in output:
                term[1] = str(-F(check.number(term[1])))

    def shut(other: Any) -> None:
        other["proof"]["nodes"] = [["distance"]]

    def moved(place: int) -> Any:
        def change(other: Any) -> None:
            node = other["proof"]["nodes"][place]
            node[3] = node[4]

        return change

    parts = (content[part] for part in ("features", "program", "question"))
    with pytest.raises(Rejected):  # more than there is, by the same splits and multipliers
        check.Proof(*parts, {**content["proof"], "radius": str(more)}, check.Clock(60)).walk()
    changes = [turned, shut]
    nodes = enumerate(content["proof"]["nodes"])
    changes += [moved(place) for place, node in nodes if node[0] == "cut"]
    for change in changes[:12]:
        with pytest.raises(Rejected):
            check.check(changed(change))


def test_a_number_in_a_range_and_in_floats() -> None:
    rows = table()
    net = MLPRegressor(hidden_layer_sizes=(3,), activation="tanh", max_iter=1500, random_state=0)
    model = make_pipeline(StandardScaler(), net).fit(rows, curved(rows))
    compiled = cfxc.compile(model, SPACE)
    wanted = float(np.quantile(model.predict(rows), 0.8))
    for semantics in ("real", "float"):
        result = compiled.explain(rows.iloc[[3]], target=(wanted, None), semantics=semantics)
        content = result.certificate.to_dict()
        assert content["semantics"] == semantics
        assert cfxc.check(content).ok


GRAPHS = {
    "gelu": [("Gelu", ["z"], ["h"], {})],
    "silu": [("Sigmoid", ["z"], ["s"], {}), ("Mul", ["z", "s"], ["h"], {})],
    "softplus": [("Softplus", ["z"], ["h"], {})],
    "mish": [("Mish", ["z"], ["h"], {})],
    "elu": [("Elu", ["z"], ["h"], {"alpha": 1.0})],
    "exp": [("Exp", ["z"], ["h"], {})],
    "tanh form of gelu": [("Gelu", ["z"], ["h"], {"approximate": "tanh"})],
    "erf": [("Erf", ["z"], ["h"], {})],
    "softsign": [("Softsign", ["z"], ["h"], {})],
}
NO_RULE = ("tanh form of gelu", "erf", "softsign")
GRID = FeatureSpace(
    tuple(Feature(name, "real", lower=-1.0, upper=1.0, resolution="0.25") for name in "abc")
)


def graph(name: str) -> onnx.ModelProto:
    """Three columns, three of these units, one number."""
    rng = np.random.default_rng(3)
    arrays = {"w": rng.normal(size=(3, 3)), "b": rng.normal(size=3), "v": rng.normal(size=(3, 1))}
    nodes = [("Gemm", ["x", "w", "b"], ["z"], {}), *GRAPHS[name], ("MatMul", ["h", "v"], ["y"], {})]
    ends = [
        onnx.helper.make_tensor_value_info(end, onnx.TensorProto.FLOAT, [None, count])
        for end, count in (("x", 3), ("y", 1))
    ]
    made = onnx.helper.make_graph(
        [onnx.helper.make_node(kind, reads, writes, **more) for kind, reads, writes, more in nodes],
        "units", ends[:1], ends[1:],
        [onnx.numpy_helper.from_array(a.astype(np.float32), key) for key, a in arrays.items()],
    )  # fmt: skip
    opset = onnx.helper.make_opsetid("", 20)
    return onnx.helper.make_model(made, opset_imports=[opset], ir_version=9)


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_smooth_units(name: str) -> None:
    compiled = cfxc.compile(graph(name), GRID)
    rows = pd.DataFrame([[0.0, 0.25, -0.5], [1, 1, 1], [-1, 1, 0]], columns=list("abc"))
    first, *others = np.asarray(compiled.predict(rows)).ravel().tolist()
    wanted = (first + 0.4 * (max(others) - first), None)
    if max(others) < first:
        wanted = (None, first + 0.4 * (min(others) - first))
    result = compiled.explain(rows.iloc[[0]], target=wanted)
    if name in NO_RULE:
        with pytest.raises(UnsupportedError, match="cannot hold the function"):
            _ = result.certificate
        return
    content = result.certificate.to_dict()
    found = cfxc.check(content)
    assert found.ok, found.reason
    assert found.shown is not None
    assert found.shown.bound > 0
    assert is_true(content)
    assert found.shown.distance is not None
    reject_false(content, found.shown.distance + F(1, 10**6))


def test_exports_refuse_smooth_functions_by_name(tmp_path: Path) -> None:
    content = claimed(asking("sigmoid", limit("sigmoid", 0)), CUT, "1/4", "2", "1/4")
    for form in ("vipr", "smt2"):
        with pytest.raises(UnsupportedError, match="'sigmoid' is smooth"):
            cfxc.export(content, form, tmp_path / "c")

"""Trees that test forms, and trees with linear leaves: certificates hold, false ones do not."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import jsonschema
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.certificates import checker as check
from cfxc.certificates.checker import Rejected
from cfxc.errors import UnsupportedError
from tests.certificates.false_claims import asked
from tests.certificates.oracle import is_true
from tests.certificates.test_products import SCHEMA, SPACE, asking, curved, table
from tests.certificates.written import certificate

F = Fraction
SUM = ["form", [[["x", 0], "1"], [["x", 1], "1"]]]
TREE = {"roots": [0], "nodes": [["form", 0, "4", 1, 2], ["-1"], ["1"]]}
ASKED = asking([SUM], [[[["tree", 0, 0], "1"]]], trees=[TREE])
"""a + b > 4 from (1, 1): 3 of 8 steps away."""
NODES = [
    ["at", 0, "4", 1, 2],
    ["bound", "0", [["row", 0, "1"]], []],  # the left leaf alone
    ["bound", "1", [["least", 0, "1/8"]], []],  # a + b >= 4: two steps, and ...
]


def claimed(content: Any, nodes: Any, radius: str, **claim: Any) -> dict[str, Any]:
    given = {"status": "feasible", "distance": "3/8", "bound": radius, "witness": ["2", "3"]}
    proof = {"radius": radius, "lemmas": [], "nodes": nodes}
    return certificate(content, proof, **{**given, **claim})


def test_a_split_of_a_form_decides_a_tree() -> None:
    """Beyond 4 lies the right leaf alone; where it may be 4, the left one is met, too."""
    found = claimed(ASKED, NODES, "1/4")
    assert check.check(found).bound == F(1, 4)
    assert is_true(found)
    jsonschema.validate(found, json.loads(SCHEMA.read_text("utf-8")))
    proof = asked(ASKED, F(1))
    (roots, nodes), root = proof.program.trees[0], proof.root
    for cut, sides in (
        ("4", (["-1"], ["1"])),
        ("3", (["-1"], ["-1", "1"])),
        ("5", (["-1", "1"], ["1"])),
    ):
        for (parts, signs), wanted in zip(
            proof.halves("at", [0, cut], root, {}), sides, strict=True
        ):
            spans = proof.spans(parts, signs)
            assert spans is not None
            met = [leaf for leaf, *_ in proof.leaves(nodes, roots[0], parts, signs, spans)]
            assert sorted(map(str, (leaf[0] for leaf in met))) == sorted(wanted)


@pytest.mark.parametrize("radius", ["5/16", "3/8", "1/2"])
def test_no_more_than_the_splits_show(radius: str) -> None:
    """The form says a + b > 4, not >= 5: beyond two steps nothing is shown by it."""
    with pytest.raises(Rejected):
        check.check(claimed(ASKED, NODES, radius))
    with pytest.raises(Rejected):
        check.check(claimed(ASKED, [["bound", "0", [["row", 0, "1"]], []]], radius))


UNIT = ["unit", SUM[1]]
MALFORMED: list[tuple[str, Any, Any]] = [
    ("a form that is not there", [SUM], ["form", 1, "4", 1, 2]),
    ("a unit", [UNIT], ["form", 0, "4", 1, 2]),
    ("a negative place", [SUM], ["form", -1, "4", 1, 2]),
    ("no place", [SUM], ["form", True, "4", 1, 2]),
    ("no number", [SUM], ["form", 0, ["4"], 1, 2]),
    ("a child before", [SUM], ["form", 0, "4", 0, 2]),
    ("a child twice", [SUM], ["form", 0, "4", 1, 1]),
    ("too short", [SUM], ["form", 0, "4", 1]),
    ("another word", [SUM], ["sum", 0, "4", 1, 2]),
    ("what reads the tree", [["form", [[["tree", 0, 0], "1"]]]], ["form", 0, "4", 1, 2]),
]


@pytest.mark.parametrize(("why", "made", "root"), MALFORMED, ids=[why for why, *_ in MALFORMED])
def test_malformed_tests(why: str, made: Any, root: Any) -> None:
    trees = [{"roots": [0], "nodes": [root, ["-1"], ["1"]]}]
    content = asking(made, [[[["tree", 0, 0], "1"]]], trees=trees)
    with pytest.raises(Rejected):
        check.check(claimed(content, [["distance"]], "0"))


def test_trees_over_what_reads_trees() -> None:
    """Made in order: a tree, a form of it, and a tree that tests that form."""
    second = {"roots": [0], "nodes": [["form", 1, "0", 1, 2], ["-1"], ["1"]]}
    made = [SUM, ["form", [[["tree", 0, 0], "2"]]]]
    content = asking(made, [[[["tree", 1, 0], "1"]]], trees=[TREE, second])
    nodes = [["at", 0, "4", 1, 2], *NODES[1:]]
    assert check.check(claimed(content, nodes, "1/4")).bound == F(1, 4)


def test_a_tree_of_what_is_rounded_has_no_slack() -> None:
    """A sum in floats may fall on the other side of a test."""
    content = asking([SUM], [[[["tree", 0, 0], "1"]]], trees=[TREE])
    with pytest.raises(Rejected, match="a tree tests what is rounded"):
        check.check(claimed(content, [["distance"]], "0", semantics="float"))


def test_a_report_tells_trees_by_the_forms_that_they_test() -> None:
    texts = []
    for factor in ("1", "2"):
        made = [["form", [[["x", 0], "1"], [["x", 1], factor]]]]
        content = asking(
            made, [[[["x", 0], "1"]]], trees=[TREE], constraints=[["ge", [[["tree", 0, 0], "1"]]]]
        )
        found = cfxc.check(claimed(content, [["distance"]], "0"))
        assert found.ok, found.reason
        texts.append(found.facts["constraints"])
    assert texts[0] != texts[1]


# -- models ---------------------------------------------------------------------------------------

MODELS = {
    "tree": make_pipeline(PCA(2), DecisionTreeClassifier(max_depth=3, random_state=0)),
    "forest": make_pipeline(PCA(2), RandomForestClassifier(3, max_depth=2, random_state=0)),
    "boosting": make_pipeline(
        PolynomialFeatures(2),
        GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "distance"), [*((name, "l1") for name in MODELS), ("tree", "linf"), ("forest", "l2")]
)
def test_trees_over_forms_have_certificates(name: str, distance: str) -> None:
    rows = table()
    model = MODELS[name].fit(rows, (curved(rows) > 0).astype(int))
    require_certificate(model, rows, distance)


@pytest.mark.parametrize("distance", ["l1", "l0"])
def test_linear_leaves_have_certificates(distance: str) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rows = table()
    model = lightgbm.LGBMClassifier(
        n_estimators=4, num_leaves=4, linear_tree=True, verbose=-1, min_child_samples=5
    ).fit(rows, (curved(rows) > 0).astype(int))
    content = require_certificate(model, rows, distance)
    assert any(kind == "product" for kind, *_ in content["program"]["made"])


def require_certificate(model: Any, rows: Any, distance: str) -> Any:
    compiled = cfxc.compile(model, SPACE)
    said = np.asarray(compiled.predict(rows))
    result = compiled.explain(rows[said == 0].iloc[[7]], target=1, distance=distance)
    content = result.certificate.to_dict()
    found = cfxc.check(content)
    assert found.ok, found.reason
    assert is_true(content)
    jsonschema.validate(content, json.loads(SCHEMA.read_text("utf-8")))
    return content


def test_exports_of_trees_over_forms(tmp_path: Any) -> None:
    found = claimed(ASKED, NODES, "1/4")
    lower, *_ = cfxc.export(found, "smt2", tmp_path / "c")
    text = lower.read_text()
    assert text.index("form.0") < text.index("(ite (<= form.0 4.0)")
    with pytest.raises(UnsupportedError, match="form"):
        cfxc.export(found, "vipr", tmp_path / "c")

"""Certificates of answers within trust regions: what they show, and forged ones."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest

import cfxc
from cfxc import TrustRegion
from cfxc.certificates import checker
from cfxc.certificates.auditing.binding import Asked
from cfxc.certificates.checker import Clock, Proof
from cfxc.certificates.export import export
from cfxc.solvers.certification import require_program_of
from cfxc.solvers.certification.prover import unproved
from tests.certificates.false_regions import OTHERS, POINTS, ROWS, F, by_hand, is_true, try_regions
from tests.certificates.handmade import NEAREST, reason, signed
from tests.solvers.mio.test_trust_region import COMPILED, X, nearest, person, vectors

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "certificate.schema.json"


def forged(**changes: Any) -> dict[str, Any]:
    content = copy.deepcopy(by_hand())
    for name, value in changes.items():
        place: Any = content
        *path, last = name.split("_")
        for key in path:
            place = place[key]
        place[last] = value
    return signed(content)


@pytest.mark.parametrize("union", [False, True])
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_what_is_shown(norm: str, union: bool) -> None:
    content = by_hand(norm, union=union)
    assert reason(content) == ""
    (text,) = [one for one in cfxc.check(content).facts["constraints"] if one.startswith("within")]
    hulls = "one of the 2 hulls of 3, 2 rows" if union else "the hull of 3 rows"
    assert text.startswith(f"within 1/20 by {norm}, over ranges, of {hulls} (SHA-256 ")


@pytest.mark.parametrize(("changes", "why"), [
    ({"proof_inside": [0, [[0, "1"], [1, "1"]]]}, "beyond the trust region"),
    ({"proof_inside": [0, [[0, "1"], [1, "-2"]]]}, "weights"),
    ({"proof_inside": [0, [[0, "1"], [0, "2"]]]}, "weights"),
    ({"proof_inside": [0, [[0, "1"], [3, "2"]]]}, "malformed"),
    ({"proof_inside": [0, []]}, "malformed"),
    ({"proof_inside": [1, [[0, "1"]]]}, "malformed"),
    ({"proof_inside": None}, "no list"),
    ({"witness": ["3", "1/2", "a"], "claim_distance": "1/6", "claim_status": "feasible"}, "beyond"),
    ({"question_region_reach": "-1/20"}, "norm or reach"),
    ({"question_region_reach": "1/25"}, "beyond"),
    ({"question_region_reach": "1/2"}, "does not close"),
    ({"question_region_norm": "l3"}, "norm or reach"),
    ({"question_region_hulls": []}, "no rows"),
    ({"question_region_hulls": [[]]}, "no rows"),
    ({"question_region_hulls": [ROWS, []]}, "no rows"),
    ({"question_region_hulls": [ROWS, OTHERS]}, "no inequality"),
    ({"question_region_hulls": [[*ROWS, ["1", "4", "a"]]]}, "does not close"),
    ({"question_region_hulls": [[["1", "1/2"]]]}, "malformed"),
    ({"question_region_hulls": [[["1", "1/2", "d"]]]}, "malformed"),
    ({"question_region_hulls": [[[str(F(1, 2**300)), "1", "a"], *ROWS]]}, "limits"),
    ({"proof_faces": []}, "no inequality"),
    ({"proof_faces": [[1, ["1", "0", "0", "0", "0"]]]}, "of no hull"),
    ({"proof_faces": [[0, ["1", "0", "0", "0"]]]}, "not a number for each"),
    ({"proof_nodes": [["hull"]]}, "malformed"),
    ({"proof_nodes": [["hull", 1, 2], ["distance"], ["distance"]]}, "malformed"),
    ({"proof_nodes": [["hull", 0]]}, "place"),
])  # fmt: skip
def test_what_is_rejected(changes: dict[str, Any], why: str) -> None:
    assert why in reason(forged(**changes))


def test_hulls_need_a_region() -> None:
    """Without one a split by hulls has no sides, and would close everything."""
    content = copy.deepcopy(NEAREST)
    content["proof"]["nodes"] = [["hull"]]
    assert "no region" in reason(signed(content))
    content["proof"]["faces"] = []
    assert "unknown" in reason(signed(content))
    without = forged()
    del without["question"]["region"]
    assert "unknown" in reason(signed(without))
    missing = forged()
    missing["features"] = [{**missing["features"][0], "absent": "-1"}, *missing["features"][1:]]
    assert "missing" in reason(signed(missing))


def test_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    many = forged()
    labels = [*"abc", *(f"l{i}" for i in range(2**16))]
    many["features"] = [*many["features"][:2], {**many["features"][2], "labels": labels}]
    assert "limits: too many labels" in reason(signed(many))
    monkeypatch.setattr("cfxc.certificates.checker.region.CELLS", 8)
    assert "limits: too many rows" in reason(by_hand())
    monkeypatch.setattr("cfxc.certificates.checker.region.CELLS", 9)
    assert reason(by_hand()) == ""
    monkeypatch.setattr("cfxc.certificates.checker.region.MEMORY", 4096)
    assert "limits: too many faces" in reason(by_hand())
    long = forged(proof_faces=[[0, [f"1/{2**900 + 1}", "0", "0", "0", "0"]]])
    assert "limits: a face of too many coordinates" in reason(long)


def test_what_cannot_vary_has_no_coordinate() -> None:
    """Nor has a region whose features are all such."""
    content = forged()
    still = {"lower": "1", "upper": "1"}
    content["features"] = [{**content["features"][0], **still}, *content["features"][1:]]
    assert "not a number for each" in reason(signed(content))
    content["features"] = [
        {**content["features"][0], **still},
        {**content["features"][1], "lower": "1/2", "upper": "1/2"},
        {**content["features"][2], "labels": ["a"]},
    ]
    content["program"]["outputs"][1].pop()
    content["question"]["region"]["hulls"] = [ROWS[:2]]
    assert "nothing varies" in reason(signed(content))


def test_each_hull_has_its_own_faces() -> None:
    """A face of one hull closes nothing in the other one, nor where no hull was chosen."""
    content = copy.deepcopy(by_hand(union=True))
    assert content["proof"]["nodes"][0] == ["hull", 1, 2]
    assert {h for h, _ in content["proof"]["faces"]} == {0, 1}
    content["proof"]["nodes"][0] = ["hull", 2, 1]
    assert "no inequality" in reason(signed(content))


# -- against enumeration --------------------------------------------------------------------------


def test_forged_ones_are_rejected_or_true() -> None:
    """What the checker takes is true of the region that it states; `benchmarks/false_claims.py`
    tries many more.
    """
    counts = Counter[str]()
    assert is_true(by_hand())
    false = copy.deepcopy(by_hand())
    false["question"]["region"]["reach"] = "1/2"
    assert not is_true(false)
    try_regions(Random(0), counts, 300)
    assert 10 < counts["regions taken, and true"] < 150


def drawn(rng: Random) -> Iterator[tuple[Proof, dict[Any, F], list[F], str]]:
    """Regions of random rows; a mean of them as values of sources, and a slack within reach."""
    content = NEAREST["question"]
    for norm in ("l1", "l2", "linf"):
        rows = [rng.choice(POINTS) for _ in range(rng.randint(1, 6))]
        slack = [F(rng.randint(-9, 9), 50) for _ in range(5)]
        size = {"l1": sum(map(abs, slack)), "linf": max(map(abs, slack))}.get(norm)
        if size is None:
            size = F(float(sum(s * s for s in slack)) ** 0.5) + F(1, 2**40)
        question = {**content, "region": {"norm": norm, "reach": str(size), "hulls": [rows]}}
        given = NEAREST["features"], NEAREST["program"], question
        weights = [F(rng.randint(0, 3)) for _ in rows]
        weights[0] += 1
        shares = [w / sum(weights) for w in weights]
        mean: dict[Any, F] = {("one", 0): F(1)}
        for j in (0, 1):
            mean["x", j] = sum(
                (s * F(row[j]) for s, row in zip(shares, rows, strict=True)), F(0)
            ) + 4 * slack[j]  # fmt: skip
        for i, code in enumerate("abc"):
            own = sum((s for s, row in zip(shares, rows, strict=True) if row[2] == code), F(0))
            mean["is", 2, i] = own + slack[2 + i]
        yield Proof(*given, unproved(given), Clock(inf)), mean, slack, norm


def test_faces_hold_of_all_that_lies_within_reach() -> None:
    """Lemma 16, at means of rows and slacks of every norm; and they are tight."""
    rng = Random(1)
    for _ in range(60):
        for proof, mean, slack, norm in drawn(rng):
            assert proof.region is not None
            along = [str(s.numerator) for s in slack]
            signs = [str((s > 0) - (s < 0)) for s in slack]
            any_ = [str(F(rng.randint(-5, 5), rng.randint(1, 7))) for _ in slack]
            for normal in (along, signs, any_):
                face = proof.region.face(0, normal)
                assert sum(f * mean[source] for source, f in face.items()) >= 0
                at = proof.region.worths({s: f for s, f in face.items() if s[0] != "one"},
                                         proof.region.hulls[0])  # fmt: skip
                dual = face["one", 0] + min(at) / F(proof.region.scale)
                sizes = [abs(float(F(one))) for one in normal]
                known = {"l1": max(sizes), "linf": sum(sizes)}.get(
                    norm, float(np.hypot.reduce(sizes))
                )
                assert float(dual) == pytest.approx(known * float(proof.region.reach), abs=1e-9)


# -- answers --------------------------------------------------------------------------------------

REGIONS = [("l1", 0.0, 1), ("l1", 0.1, 2), ("l2", 0.1, 1), ("linf", 0.05, 1)]


@pytest.mark.parametrize(("norm", "epsilon", "clusters"), REGIONS)
@pytest.mark.parametrize("name", ["logistic", "tree", "forest", "network"])
def test_answers_are_those_of_enumeration(
    name: str, norm: Any, epsilon: float, clusters: int
) -> None:
    model, region = COMPILED[name], TrustRegion(X, epsilon=epsilon, norm=norm, clusters=clusters)
    row = person(model, 3)
    found = model.explain(row, target=1, subject_to=[region])
    content = found.certificate.to_dict()
    assert found.lower_bound_proof == "certificate"
    jsonschema.validate(content, json.loads(SCHEMA.read_text("utf-8")))
    require_program_of(content, model)
    shown = checker.check(content)
    assert shown.status == "optimal"
    assert shown.distance is not None
    assert float(shown.distance) == pytest.approx(found.distance, rel=1e-12)
    inside = X[model.predict(X) == 1]
    stated = sum(len(rows) for rows in content["question"]["region"]["hulls"])
    assert stated == len(inside.drop_duplicates())
    if clusters == 1:
        best = nearest(model, row, vectors(inside), region, "l1")
        assert float(shown.bound) <= best + 1e-12
        assert found.distance == pytest.approx(best, rel=1e-3)


def test_what_cannot_be_reached() -> None:
    model = COMPILED["tree"]
    row = person(model, 0)
    far = TrustRegion(X[(X.a == 8) & (X.c == "v")])
    none = model.explain(row, target=1, subject_to=['x.c != "v"', far])
    assert none.status == "infeasible"
    content = none.certificate.to_dict()
    assert content["proof"]["inside"] is None
    notes = cfxc.check(content).facts["warnings"]
    assert "Constraints: 2. Without them a change may exist." in notes


def test_weights_have_none_and_other_formats_refuse(tmp_path: Path) -> None:
    model, row = COMPILED["logistic"], person(COMPILED["logistic"], 3)
    weighed = model.explain(row, target=1, subject_to=[TrustRegion(X, epsilon=0.1, weight=0.1)])
    with pytest.raises(cfxc.UnsupportedError, match="weighs how far"):
        weighed.certificate.to_dict()
    content = by_hand()
    for format in ("smt2", "cpc", "vipr"):
        with pytest.raises(cfxc.UnsupportedError, match="trust regions are not written"):
            export(content, format, tmp_path / "c")


def test_a_policy_allows_it_by_its_text(tmp_path: Path) -> None:
    """As the report prints it, hash of the rows included; else the certificate is rejected."""
    content = by_hand()
    shown, (_, text) = checker.check(content), cfxc.check(content).facts["constraints"]

    def facts(*rules: str) -> dict[str, Any]:
        path, rows = tmp_path / "policy.toml", ["4 >= x", "x <= 4", *rules]
        path.write_text(f'others = "any"\nconstraints = {rows!r}\n', "utf-8")
        return Asked.read(path, None, None).facts(shown)

    assert text in facts(text)["constraints"]
    others = text.replace("1/20", "0.06"), text.replace("1/20", "0.05"), text[:-6] + "00000)"
    for other in ((), *((one,) for one in others)):
        with pytest.raises(checker.Rejected, match="it has no constraint within"):
            facts(*other)


def _swap(features: list[dict[str, Any]]) -> None:
    features[0]["name"], features[1]["name"] = features[1]["name"], features[0]["name"]


@pytest.mark.parametrize("change", [
    lambda features: features[0].update(upper="8"),
    lambda features: features[1].update(lower="-1"),
    lambda features: features[2].update(labels=[*"abcd"]),
    lambda features: features[2].update(kind="ordinal"),
    _swap,
])  # fmt: skip
def test_the_same_rows_in_other_coordinates_are_another_region(change: Any) -> None:
    """What says how far rows are apart is in the hash: ranges, labels, whose column is whose."""
    content, (_, text) = copy.deepcopy(by_hand()), cfxc.check(by_hand()).facts["constraints"]
    change(content["features"])
    given = content["features"], content["program"], content["question"]
    region = Proof(*given, unproved(given), Clock(inf)).region
    assert region is not None
    assert region.hash not in text

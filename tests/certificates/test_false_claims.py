"""Claims that are false, and proofs made for them: the checker takes none."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from cfxc.certificates import checker as check
from tests.certificates.false_certificates import try_certificates
from tests.certificates.false_claims import Found, Search, false_claims
from tests.certificates.rounded_programs import CURVES, KINDS, SMOOTH, Refused, draw_program, worst
from tests.certificates.rule_properties import (
    Wrong,
    check_bounds,
    check_closings,
    check_features,
    draw_case,
)  # fmt: skip
from tests.certificates.written import NOWHERE, certificate, number, question

F = Fraction
X = [[["x", 0], "1"]]


@pytest.mark.parametrize(("own", "action"), [(5, "free"), (5, "increase"), (12, "free")])
def test_a_factual_outside_of_the_range_is_refused(own: int, action: str) -> None:
    """A range of one value has size 0, so nothing is far; the value itself was clipped away."""
    feature = number("a", own, 10, 10, step=1, width=0, action=action)
    content = certificate(question([feature], [X]), NOWHERE)
    with pytest.raises(check.Rejected, match="the factual lies outside"):
        check.check(content)


def test_a_kind_of_numbers_has_no_labels() -> None:
    feature = {"name": "a", "kind": "real", "labels": ["u", "v"], "lower": None, "upper": None}
    feature |= {"step": None, "float": 0, "weight": "1", "action": "free"}
    content = certificate(question([(feature, "u")], [[[["is", 0, 1], "1"]]]), NOWHERE)
    with pytest.raises(check.Rejected, match="labels or numbers"):
        check.check(content)


def test_a_single_float_that_overflows_is_no_number() -> None:
    """4 · 2¹²⁶ is infinite as a float32, and so above all that is asked for."""
    made = [["single", [[["x", 0], str(2**126)]]]]
    feature = number("a", 0, 0, 4, step=1, width=0)
    target = {"lower": str(2**129), "upper": None}
    content = question([feature], [[[["single", 0], "1"]]], made=made, target=target)
    proof = {**NOWHERE, "nodes": [["bound", "0", [["row", 0, "1"]], []]]}
    with pytest.raises(check.Rejected, match="beyond all floats"):
        check.check(certificate(content, proof))


# -- the search, bounded by count -----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_no_proof_of_a_false_claim_is_found(seed: int) -> None:
    """Random proofs, mutants of sound ones, and leaves closed by multipliers that climb."""
    search = Search(seed)
    for _, claim in zip(range(8), false_claims(search.rng), strict=False):
        search.run(claim, 200)
    assert sum(search.tried.values()) > 1000
    assert search.honest or seed  # mutants are of proofs that hold


@pytest.mark.parametrize("seed", range(3))
def test_what_is_closed_holds_no_nearer_counterfactual(seed: int) -> None:
    """The property of the rules, of parts that no proof need lead to; and what they rest on."""
    rng, counts = Random(seed), Counter[str]()
    for _ in range(10):
        case = draw_case(rng)
        counts["gaps"] += any({"missing", "absent"} & set(f) for f in case.content["features"])
        check_features(rng, case, counts)
        check_closings(rng, case, 4, counts)
        for _ in range(6):
            check_bounds(rng, case, counts)
    assert counts["closed by bound"] > 100
    assert counts["gaps"] > 2
    assert counts["closed by constraint"] > 0
    assert counts["closed by distance"] > 0
    assert counts["parts with bounds"] > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_certificate_with_one_thing_false_is_rejected(seed: int) -> None:
    rng, counts = Random(seed), Counter[str]()
    for _ in range(12):
        try_certificates(rng, counts)
    assert counts["honest certificates"] == 12  # and these are accepted
    assert len(counts) >= 7


# -- what the search can see: each of these was, or might be, a hole -----------------------------


def unsound(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A checker with one mistake."""
    proof, clip, near = check.Proof, check.Proof.clip, check.Feature.near

    def zero_times(self: Any, by: Any, parts: Any, signs: Any, spans: Any) -> bool:
        row = next((k for name, k in by.rows if name == "row"), None)
        worth = self.most({}, by, parts, signs, spans, row)
        return bool(worth < 0 or (worth == 0 and by.budget > 0))

    def inequality(self: Any, name: str, k: int, *rest: Any) -> Any:
        return self.rows[k][0] if name == "row" else {("one", 0): F(-1)}

    def outweighs(self: Any, by: Any, parts: Any, signs: Any, spans: Any) -> bool:
        return bool(self.most({}, by, parts, signs, spans) <= 0)

    for own, place, changed in (
        ("zero times", (proof, "outweighs"), zero_times),
        ("chord", (proof, "inequality"), inequality),
        ("ties", (proof, "outweighs"), outweighs),
        ("clip", (proof, "clip"), lambda self, j, part, r: clip(self, j, part, r * 9 / 10)),
        (
            "near",
            (check.Feature, "near"),
            lambda f, v, side: f.own if side > 0 else near(f, v, side),
        ),
    ):
        if own == name:
            monkeypatch.setattr(*place, changed)


@pytest.mark.parametrize("mistake", ["zero times", "chord", "ties", "clip", "near"])
def test_a_mistake_of_the_checker_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds nothing in a checker with a hole would show nothing."""
    unsound(monkeypatch, mistake)
    with pytest.raises((Found, Wrong)):
        search_long()


def search_long() -> None:
    rng, counts = Random(0), Counter[str]()
    for _ in range(60):
        search = Search(rng.randrange(2**30))
        for _, claim in zip(range(2), false_claims(search.rng), strict=False):
            search.run(claim, 200)
        check_closings(rng, draw_case(rng), 4, counts)


# -- rounding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_rounding_keeps_within_the_slack(seed: int) -> None:
    """In any order, with cancellation, what vanishes and what is large; or it is refused."""
    rng, tried = Random(seed), 0
    for _ in range(120):
        content = draw_program(rng)
        for kind in KINDS:
            try:
                assert worst(content, kind, rng) <= 1, content
                tried += 1
            except Refused:
                continue
    assert tried > 50


@pytest.mark.parametrize("name", SMOOTH)
def test_rounding_of_smooth_functions_keeps_within_the_slack(name: str) -> None:
    """Or it is refused: exp, and so ELU, has no greatest slope."""
    rng, tried = Random(name), 0
    for _ in range(150):
        content = draw_program(rng, [name])
        kinds = {kind for kind, *_ in content["program"]["made"]}
        for kind in KINDS if kinds & set(CURVES) else ():
            try:
                assert worst(content, kind, rng) <= 1, content
                tried += 1
            except Refused:
                continue
    assert tried > 5 if name not in ("exp", "elu") else tried == 0


GROWS = [[["x", 0], str(2**126)], [["one", 0], str(2**126)], [["x", 1], str(-(2**126))]]
TENTH = F(float("0.1"))


def test_slack_covers_a_factor_that_vanishes() -> None:
    """1/2¹⁶⁰ is 0 as a float32, and 2¹⁰⁰ times as much is not."""
    content = question([number("a", 1, 0, 2**100)], [[[["x", 0], f"1/{2**160}"]]])
    assert worst(content, "float32", Random(0)) <= 1


@pytest.mark.parametrize(("width", "step"), [(4, None), (0, 1)])
def test_no_step_reads_a_factual_that_is_no_float32(width: int, step: int | None) -> None:
    """The factual's own value may stand beside the grid; as a float32 it lies elsewhere."""
    feature = number("a", TENTH, 0, 1, width=width, step=step)
    cut = F(13421773, 2**27)  # the float32 nearest to it, a little above
    made = [["step", [[["x", 0], "1"], [["one", 0], str(-cut)]]]]
    content = question([feature], [[[["step", 0], "1"]]], made=made)
    with pytest.raises(Refused, match="a step of what is rounded"):
        worst(content, "float32", Random(0))
    assert worst(content, "float", Random(0)) <= 1


def test_what_may_grow_beyond_all_floats_is_refused() -> None:
    """Adding up in one order is exact, in another infinite."""
    content = question([number("a", 1, 0, 2, width=4), number("b", 1, 0, 2, width=4)], [GROWS])
    with pytest.raises(Refused, match="beyond all floats"):
        worst(content, "float32", Random(0))
    assert worst(content, "float", Random(0)) <= 1

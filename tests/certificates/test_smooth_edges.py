"""Smooth functions at the edges: ties that no enclosure decides, time, what is beyond all use."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

import cfxc
from cfxc.certificates import checker as check
from cfxc.certificates.checker import Rejected, Undecided
from tests.certificates.false_claims import asked
from tests.certificates.false_questions import draw_question
from tests.certificates.written import certificate, number, question

F = Fraction
SAME = [["sigmoid", [[["x", 0], "1"]]], ["sigmoid", [[["x", 1], "1"]]]]
AHEAD = [[["sigmoid", 0], "1"], [["sigmoid", 1], "-1"]]  # at least 0 where x0 is at least x1


def between_two(outputs: Any, witness: list[str], **more: Any) -> Any:
    """From (0, 2) to a witness two steps of four away, and nothing said about what is nearer."""
    features = [number(name, own, 0, 4, step=1, width=0) for name, own in (("a", 0), ("b", 2))]
    content = question(features, outputs, made=SAME, **more)
    distance = sum(F(int(x) - own, 8) for x, own in zip(witness, (0, 2), strict=True))
    proof = {"radius": "0", "lemmas": [], "nodes": [["distance"]]}
    return certificate(content, proof, "feasible", distance=distance, witness=witness)


@pytest.mark.parametrize("more", [{}, {"constraints": [["ge", AHEAD]]}], ids=["target", "rule"])
def test_a_tie_of_equal_values_is_left_undecided(more: Any) -> None:
    """σ(2) - σ(2) is 0, but all that is known is that it lies beside 0: no reason to deny it."""
    outputs = [[[["one", 0], "1"]]] if more else [AHEAD]
    check.check(between_two(outputs, ["3", "2"], **more))
    with pytest.raises(Undecided, match="a witness too near"):
        check.check(between_two(outputs, ["2", "2"], **more))
    with pytest.raises(Rejected, match=r"target outcome|breaks a constraint") as found:
        check.check(between_two(outputs, ["1", "2"], **more))
    assert not isinstance(found.value, Undecided)


def test_each_function_of_a_form_asks_the_clock() -> None:
    """A form may have any number of them, and each may take a millisecond."""
    proof = asked(question([number("a", 0, -4, 4)], [AHEAD[:1]], made=SAME[:1]), F(2))
    form, spans = proof.program.outputs[0], [(F(0), F(1))]
    assert proof.range(form, proof.root, {}, spans)[0] == F(1, 2)
    proof.clock.end = 0.0
    with pytest.raises(Undecided, match="seconds"):
        proof.range(form, proof.root, {}, spans)


def test_a_factual_beyond_all_use_is_said_on_the_page() -> None:
    """exp(2000) is refused as a value, but nothing in the proof asks for it."""
    outputs = [[[["exp", 0], "-1"], [["one", 0], "3"]]]
    features = [number("a", 2000, 0, 2000, step=1, width=0)]
    content = question(features, outputs, made=[["exp", [[["x", 0], "1"]]]])
    line = ["bound", "0", [["row", 0, "1"], ["over", 0, "1", "7", "2"]], []]
    proof = {"radius": "1999/2000", "lemmas": []}
    proof |= {"nodes": [["cut", 0, "1", 1, 2], ["distance"], line]}
    made = certificate(
        content, proof, "optimal", bound="1999/2000", distance="1999/2000", witness=["1"]
    )
    found = cfxc.check(made)
    assert found.ok, found.reason
    assert "factual's outcome: unknown (exp of more than 1024)" in found.summary()


def test_questions_of_towering_products_are_drawn_anew() -> None:
    """What has too many digits to be written ends no search for false claims."""
    assert draw_question(Random(3449))["question"]["target"]

"""Every way in which the checker says no, on certificates written by hand, one change each."""

from __future__ import annotations

import copy
import gzip
import json
import re
from fractions import Fraction as Q
from pathlib import Path
from typing import Any

import pytest

import cfxc
from cfxc.certificates.checker import Clock, Rejected, check, number, parse, read, rounded
from cfxc.certificates.checker import reader as limits
from cfxc.certificates.checker.program import image
from cfxc.certificates.checker.reader import small
from tests.certificates.handmade import (
    CODE,
    COUNT,
    NEAREST,
    ONE,
    REAL,
    SPACE,
    changed,
    reason,
    signed,
)
from tests.certificates.oracle import is_true

LOW, X, YES = ["ge", [[ONE, "-1"]]], ["x", 0], ("question", "target")
FEATURE, TREES, MADE = ("features", 0), ("program", "trees"), ("program", "made")
OUTPUT, CLAIM, NODES = ("program", "outputs", 1), ("claim",), ("proof", "nodes")
BOUND, LEMMAS = (*NODES, 2), ("proof", "lemmas")
TREE = {"roots": [0], "nodes": [[0, "2", 1, 2], ["0"], ["1"]]}
DEEP: Any = ["ge", []]
for _ in range(60):
    DEEP = ["not", DEEP]

REJECTED: list[tuple[tuple[Any, ...], Any, str]] = [
    (("version",), "cfxc certificate 2", "version: another one"),
    (("made",), {"cfxc": "1"}, "made: unknown or missing"),
    (("made",), {"cfxc": "1", "python": "3", "engine": 1}, "no text"),
    (("semantics",), "exact", "semantics: of no known kind"),
    (("model",), {"name": "m"}, "model: unknown or missing: ['sha256']"),
    (("model",), {"name": 1, "sha256": "0" * 64}, "no text"),
    (("model",), {"name": "m", "sha256": "0" * 63}, "model.sha256: no hash"),
    (("more",), 1, "certificate: unknown or missing: ['more']"),
    (("space",), 1, "no text"),
    (("space",), "#" * 2**21, "no text"),
    (("space",), "a = [", "space: no TOML"),
    (("space",), "more = 1", "space: unknown ['more']"),
    (("space",), "feature = 1", "space.feature: no list"),
    (("space",), "feature = [{kind = 'real'}]", "space.feature[0]: no name"),
    (("space",), "feature = [{name = 'n', more = 1}]", "unknown ['more']"),
    (("space",), "", "space: not one entry for each feature"),
    (("space",), SPACE.replace("upper = 4", "upper = 5", 1), "'n': the space has another upper"),
    (("space",), SPACE.replace("upper = 4", "upper = 4.5", 1), "the space has another upper"),
    (("space",), SPACE.replace('"0.5"', '"0,5"'), "no number: '0,5'"),
    ((*CLAIM, "status"), "proved", "claim: status"),
    ((*CLAIM, "epsilon"), "1", "claim: status, or epsilon"),
    ((*CLAIM, "epsilon"), "1/5", "claim.epsilon: the gap exceeds it"),
    ((*CLAIM, "lower_bound"), "1/7", "claim.lower_bound: not what the proof covers"),
    ((*CLAIM, "lower_bound"), "-1", "claim.lower_bound: not what the proof covers"),
    ((*CLAIM, "distance"), "1/7", "claim.distance: the witness lies elsewhere"),
    ((*CLAIM, "distance"), 1, "a number is not in quotes"),
    ((*CLAIM, "distance"), "0.5", "not a number, or too long: '0.5'"),
    ((*CLAIM, "distance"), "1/0", "not a number, or too long"),
    (CLAIM, [], "claim: no object"),
    (("witness",), ["1", "1/2", "a"], "witness: it does not have the target outcome"),
    (("witness",), ["3", "1/3", "a"], "witness: 'x' may not be that"),
    (("witness",), ["3", "1/2"], "malformed: ValueError"),
    (("witness",), "3", "witness: no list"),
    (("question", "constraints", 0), ["ge", [[ONE, "-1"]]], "witness: it breaks a constraint"),
    (("question", "constraints", 0), ["xor", ["ge", []]], "question.constraints[0]: no condition"),
    (("question", "constraints", 0), ["not", ["ge", []], ["ge", []]], "[0]: no condition"),
    (("question", "constraints", 0), DEEP, "no condition, or too deep"),
    (("question", "constraints"), {}, "question.constraints: no list"),
    (("question", "slack"), "1/8", "question.slack: it must be 0"),
    (("question", "norms", "l1"), "1/2", "question.norms: no distance"),
    (("question", "norms"), {"l0": "0", "l1": "1/2", "linf": "0", "l2": "1/2"}, "no distance"),
    (("question", "factual", 0), "1/3", "features[0]: numbers that are no doubles"),
    (("question", "factual"), ["1", "1/2"], "malformed: ValueError"),
    (YES, {"label": "maybe"}, "question.target: no label of the program"),
    (YES, {"label": True}, "question.target: no label of the program"),
    (YES, {"label": 1.5}, "a label of an unknown type"),
    (YES, {"label": "yes", "margin": "-1", "least": None}, "question.target: margin"),
    (YES, {"label": "yes", "margin": "0"}, "question.target: unknown or missing: ['least']"),
    (YES, {"lower": "0", "upper": None}, "question.target: unknown or missing: ['label']"),
    ((*FEATURE, "kind"), "number", "features[0]: name or kind"),
    ((*FEATURE, "kind"), "binary", "features[0]: labels or numbers"),
    ((*FEATURE, "name"), "x", "features: a name twice"),
    ((*FEATURE, "action"), "up", "features[0]: action or weight"),
    ((*FEATURE, "weight"), "-1", "features[0]: action or weight"),
    ((*FEATURE, "lower"), None, "features[0]: range"),
    ((*FEATURE, "lower"), "5", "features[0]: range"),
    ((*FEATURE, "step"), "2", "features[0]: step"),
    ((*FEATURE, "float"), 2, "features[0]: float"),
    ((*FEATURE, "upper"), str(2**60), "features[0]: numbers that are no doubles"),
    ((*FEATURE, "step"), None, "features[0]: step"),
    (("features", 1, "step"), "0", "features[1]: step"),
    (("features", 1, "float"), 0, "features[1]: float"),
    (("features", 2, "step"), "1", "features[2]: labels or numbers"),
    (("features", 2, "labels"), ["a", "b", "a"], "features[2].labels: two alike"),
    (("features",), [{**COUNT, "weight": "0"}, {**REAL, "weight": "0"}, {**CODE, "weight": "0"}],
     "features: all weights are 0"),
    ((*OUTPUT, 0), [["x", 2], "1"], "program.outputs[1]: source ('x', 2)"),
    ((*OUTPUT, 0), [["x", 0, 0], "1"], "source ('x', 0, 0)"),
    ((*OUTPUT, 0), [["is", 2, 3], "1"], "source ('is', 2, 3)"),
    ((*OUTPUT, 0), [["is", 0, 0], "1"], "source ('is', 0, 0)"),
    ((*OUTPUT, 0), [["one", 1], "1"], "source ('one', 1)"),
    ((*OUTPUT, 0), [["one", 0, 0], "1"], "source ('one', 0, 0)"),
    ((*OUTPUT, 0), [["tree", 0, 0], "1"], "source ('tree', 0, 0)"),
    ((*OUTPUT, 0), [["unit", 0], "1"], "source ('unit', 0)"),
    ((*OUTPUT, 0), [["y", 0], "1"], "source ('y', 0)"),
    ((*OUTPUT, 0), [["x", 9], "1"], "source ('x', 9)"),
    ((*OUTPUT, 0), [[], "1"], "a place is out of range"),
    ((*OUTPUT, 0), [["x", True], "1"], "a place is out of range: True"),
    ((*OUTPUT, 0), [["x", 1], "1"], "program.outputs[1]: source ('x', 1)"),
    (("program", "outputs"), [[]], "program.outputs: not one for each label"),
    (("program", "labels"), [], "program.outputs: not one for each label"),
    (("program", "labels"), ["no", "no"], "program.labels: two alike"),
    (MADE, [["unit", [[X, "1"]]]], "program: nothing reads [('unit', 0)]"),
    (MADE, [["sum", [[X, "1"]]]], "program.made[0]: an unknown kind of source"),
    (MADE, [["product", 0, 0]], "program.made[0]: source ('form', 0)"),
    (TREES, [{**TREE, "nodes": [["form", 0, "2", 1, 2], ["0"], ["1"]]}], "source ('form', 0)"),
    (TREES, [TREE], "program: nothing reads [('tree', 0)]"),
    (TREES, [{**TREE, "roots": [1]}], "program.trees[0]: nodes are not those of trees"),
    (TREES, [{**TREE, "nodes": [[0, "2", 1, 1], ["0"], ["1"]]}], "nodes are not those of trees"),
    (TREES, [{**TREE, "nodes": [[0, "2", 1, 0], ["0"], ["1"]]}], "nodes[0]: a child before"),
    (TREES, [{**TREE, "nodes": [[0, "2", 1, 2], ["0"], ["1", "2"]]}], "leaves of different"),
    (TREES, [{**TREE, "nodes": [[0, "1/3", 1, 2], ["0"], ["1"]]}], "a cut is no double"),
    (TREES, [{**TREE, "nodes": [[2, [3], 1, 2], ["0"], ["1"]]}], "by a label twice, or by none"),
    (TREES, [{**TREE, "nodes": [[2, [1, 1], 1, 2], ["0"], ["1"]]}], "a label twice"),
    (TREES, [{**TREE, "nodes": [[2, "1", 1, 2], ["0"], ["1"]]}], "a split by labels: no list"),
    ((*NODES, 0), ["label", 2, "z", 1, 2], "malformed: ValueError"),
    ((*NODES, 0), ["label", 0, "a", 1, 2], "proof: a label of 'n'"),
    ((*NODES, 0), ["cut", 2, "1", 1, 2], "proof: a cut of 'code'"),
    ((*NODES, 0), ["label", 2, "b", 2, 2], "proof: no tree at node 2"),
    ((*NODES, 0), ["label", 2, "b", 1, 3], "proof: no tree at node 3"),
    ((*NODES, 0), ["label", 2, "b", 1, 0], "a place is out of range: 0"),
    ((*NODES, 0), ["sign", 0, 1, 2], "malformed: IndexError"),
    ((*NODES, 0), ["distance"], "proof: distance does not close node 0"),
    ((*NODES, 0), ["constraint"], "proof: constraint does not close node 0"),
    ((*NODES, 0), ["guess"], "proof: no rule at node 0"),
    ((*NODES, 1), ["distance", 1], "proof: a distance has no more to it"),
    (NODES, [*NEAREST["proof"]["nodes"], ["distance"]], "proof: nodes that nothing leads to"),
    (BOUND, ["bound", "12", [], []], "proof: bound does not close node 2"),
    (BOUND, ["bound", "12", [["row", 2, "1"]], []], "a multiplier of no inequality: 'row' 2"),
    (BOUND, ["bound", "12", [["sign", 0, "1"]], []], "a multiplier of no inequality: 'sign' 0"),
    (BOUND, ["bound", "12", [["chord", 0, "1"]], []], "a multiplier of no inequality"),
    (BOUND, ["bound", "12", [["odd", 0, "1"]], []], "a multiplier of no inequality: 'odd' 0"),
    (BOUND, ["bound", "12", [["row", 0, "1"], ["row", 0, "0"]], []], "proof: a multiplier twice"),
    (BOUND, ["bound", "12", [["row", 0, "-1"]], []], "proof: below 0"),
    (BOUND, ["bound", "-12", [["row", 0, "1"]], []], "proof: below 0"),
    (BOUND, ["bound", "12", [["peak", 0, "1"]], []], "proof: shares of more than there is"),
    (BOUND, ["bound", "12", [], [[0, 0, "1"]]], "proof: a share of none"),
    (BOUND, ["bound", "12", {}, []], "proof: multipliers: no list"),
    (LEMMAS, [[0, 1, "1", "0", [], []]], "proof.lemmas[0]: of no form or side"),
    (LEMMAS, [[0]], "malformed: ValueError"),
    (("proof", "radius"), "0", "claim.lower_bound: not what the proof covers"),
    (("proof", "radius"), "1/6", "proof: bound does not close node 2"),
]  # fmt: skip


def test_the_certificate_itself_holds_and_is_true() -> None:
    assert reason(changed()) == ""
    assert is_true(changed())


@pytest.mark.parametrize(("path", "value", "why"), REJECTED)
def test_one_change(path: tuple[Any, ...], value: Any, why: str) -> None:
    assert why in reason(changed((path, value)))


@pytest.mark.parametrize("content", [None, [], "x", {}, {"hash": "0"}, {"version": set()}])
def test_what_is_no_certificate(content: Any) -> None:
    assert reason(content)


def test_the_hash() -> None:
    assert reason({**changed(), "hash": "0" * 64}) == "hash: it is not that of the rest"


def test_an_infeasible_claim() -> None:
    no = [(CLAIM, {"status": "infeasible", "distance": None, "lower_bound": "0", "epsilon": "0"}),
          (("witness",), None)]  # fmt: skip
    assert reason(changed(*no)) == "proof.radius: some rows lie beyond it"
    assert reason(changed(no[0])) == "claim: infeasible, and a witness"
    closed = [(("proof", "radius"), "2"), (NODES, [["bound", "0", [], []]])]
    assert reason(changed(*no, *closed)) == "proof: bound does not close node 0"
    never = [(("question", "constraints", 0), LOW), (NODES, [["constraint"]])]
    assert reason(changed(*no, *closed[:1], *never)) == ""
    assert is_true(changed(*no, *closed[:1], *never))


def test_distances_beyond_all_floats() -> None:
    tiny, huge = str(Q(5e-324)), str(Q(2.0**1000))
    far = {**REAL, "lower": "0", "upper": tiny, "step": None}
    made = [
        (("features", 1), far),
        (("space",), SPACE.replace("upper = 4\nres", "upper = 5e-324\nres")),
        (("question", "factual"), ["1", huge, "a"]),
        (("witness",), ["3", "0", "b"]),
    ]
    assert reason(changed(*made))


# -- units, steps, trees ---------------------------------------------------------------------------

UNIT = [
    (MADE, [["unit", [[ONE, "-1"], [X, "1"]]], ["step", [[ONE, "-3"], [X, "1"]]]]),
    (("program", "outputs"), [[], [[ONE, "-1/2"], [["unit", 0], "1"], [["step", 1], "1"]]]),
    (("witness",), ["2", "1/2", "a"]),
    (CLAIM, {"status": "optimal", "distance": "1/12", "lower_bound": "1/24", "epsilon": "1/2"}),
    (("proof", "radius"), "1/24"),
    (NODES, [["bound", "12", [["row", 0, "1"], ["chord", 0, "1"]], []]]),
    (("question", "constraints"), []),
]


def test_units_and_steps() -> None:
    cut = [["cut", 0, "1", 1, 2], ["bound", "0", [["row", 0, "1"]], []], ["distance"]]
    content = changed(*UNIT, (NODES, cut))
    assert reason(content) == ""
    assert is_true(content)
    signs = [["sign", 0, 1, 2], ["bound", "0", [["row", 0, "1"], ["sign", 0, "1"]], []],
             ["bound", "0", [["row", 0, "1"], ["sign", 0, "0"], ["above", 0, "0"]], []],
    ]  # fmt: skip
    content = changed(*UNIT, (NODES, signs))
    assert reason(content) == ""
    assert "sign of no unit" in reason(changed(*UNIT, (NODES, [["sign", 1, 1, 2], *signs[1:]])))
    for k, side in ((0, 2), (0, True), (5, 1)):
        lemma = [[k, side, "9", "0", [], []]]
        assert "proof.lemmas[0]: of no form or side" in reason(changed(*UNIT, (LEMMAS, lemma)))


def test_a_chord_of_a_unit_that_is_closed_says_nothing() -> None:
    """Where z is at most 0, the chord over its range is no inequality: it adds nothing."""
    rows = [["row", 0, "1"], ["chord", 0, "1000"]]
    cut = [["cut", 0, "1", 1, 2], ["bound", "0", rows, []], ["distance"]]
    assert reason(changed(*UNIT, (NODES, cut))) == ""
    alone = [cut[0], ["bound", "0", rows[1:], []], cut[2]]
    assert "bound does not close node 1" in reason(changed(*UNIT, (NODES, alone)))


def test_lemmas() -> None:
    """A bound of a unit is shown before it is used; it may leave nothing."""
    base = [*UNIT, (NODES, [["bound", "24", [["row", 0, "1"]], []]])]
    wide = [[0, 1, "9", "0", [], []]]
    assert "does not close node 0" not in reason(changed(*base, (LEMMAS, wide)))
    twice = [*wide, *wide]
    assert "proof.lemmas[1]: of no form or side" in reason(changed(*base, (LEMMAS, twice)))
    low = [[0, 1, "-1", "0", [], []]]
    assert "proof.lemmas[0]: the bound is not shown" in reason(changed(*base, (LEMMAS, low)))


def test_trees() -> None:
    tree = {"roots": [0], "nodes": [[0, "2", 1, 2], ["0"], [2, [1], 3, 4], ["5"], ["1"]]}
    base = [
        (TREES, [tree]),
        (("program", "outputs"), [[], [[ONE, "-1/2"], [["tree", 0, 0], "1"]]]),
        (NODES, [["bound", "0", [["row", 0, "1"]], []]]),
        (("question", "constraints"), []),
    ]
    content = changed(*base)
    assert reason(content) == ""
    assert is_true(content)
    shares = [["bound", "1", [["row", 0, "1"]], [[0, 0, "1"]]]]
    assert reason(changed(*base, (NODES, shares))) == ""
    more = [["bound", "1", [["row", 0, "1"]], [[0, 0, "2"]]]]
    assert "shares of more" in reason(changed(*base, (NODES, more)))
    for given, why in (
        ([[0, 0, "1", "1/4"]], ""),
        ([[0, 0, "1", "-1/4"], [0, 0, "3", "1/4"], [0, 0, "1", "1"]], ""),
        ([[0, 0, "1", "1/4"], [0, 0, "1", "2/8"]], "a weight of nothing, or two"),
        ([[0, 0, "1", "0"]], "a weight of nothing"),
        ([[0, 0, "0", "1"]], "a weight of nothing"),
        ([[0, 0, "-1", "1"]], "a weight of nothing"),
        ([[0, 0, "1", "1/4"], [0, 0, "1/2"]], "shares and weights of one feature"),
        ([[0, 0, "1", "1/4", "1"]], ""),
        ([[1, 0, "1", "1/4"]], "a share of none"),
    ):
        found = reason(changed(*base, (NODES, [["bound", "1", [["row", 0, "1"]], given]])))
        assert why in found, (given, found)
        assert bool(found) == bool(why or len(given[0]) > 4)
    ranged = [(MADE, [["unit", [[["tree", 0, 0], "1"]]]]), (("question", "constraints"), [
        ["ge", [[["unit", 0], "1"]]]])]  # fmt: skip
    assert reason(changed(*base, *ranged)) == ""  # of its leaves in reach
    assert is_true(changed(*base, *ranged))


def test_single_floats() -> None:
    """What is rounded is bounded with its rounding."""
    base = [
        (MADE, [["single", [[["x", 1], "1"]]]]),
        (("program", "outputs"), [[], [[ONE, "-2"], [["single", 0], "1"]]]),
        (("witness",), ["1", "5/2", "a"]),
        (CLAIM, {"status": "optimal", "distance": "1/6", "lower_bound": "1/9", "epsilon": "1/2"}),
        (("proof", "radius"), "1/9"),
        (NODES, [["bound", "12", [["row", 0, "1"]], []]]),
    ]
    content = changed(*base)
    assert reason(content) == ""
    assert is_true(content)
    tight = [(("proof", "radius"), "1/8"), (CLAIM, {**base[3][1], "lower_bound": "1/8"})]
    assert "does not close" in reason(changed(*base, *tight)), "its rounding may reach the target"


def test_ranges_as_targets() -> None:
    base = [
        (("program", "labels"), None),
        (("program", "outputs"), [[[X, "1"]]]),
        ((*NODES, 2), ["bound", "12", [["row", 0, "1"]], []]),
    ]
    content = changed(*base, (YES, {"lower": "3", "upper": "7/2"}))
    assert reason(content) == ""
    assert is_true(content)
    for odd in ({"lower": None, "upper": None}, {"lower": "2", "upper": "1"}):
        assert "everything, or nothing, is the target" in reason(changed(*base, (YES, odd)))
    below = [(YES, {"lower": None, "upper": "0"}), (("witness",), ["0", "1/2", "a"])]
    assert "claim.distance" in reason(changed(*base, *below))


def test_actions() -> None:
    for action, value, fits in (("increase", "3", True), ("decrease", "3", False),
                                ("fixed", "3", False)):  # fmt: skip
        space = SPACE.replace('dtype = "int64"', f'dtype = "int64"\naction = "{action}"')
        content = changed(((*FEATURE, "action"), action), (("space",), space),
                          (("witness", 0), value))  # fmt: skip
        assert (reason(content) == "") == fits
    for action, labels in (("increase", "abc"), ("decrease", "a"), ("fixed", "a")):
        text = f'labels = ["a", "b", "c"]\naction = "{action}"'
        space = SPACE.replace('labels = ["a", "b", "c"]', text)
        own = [(("features", 2, "action"), action), (("space",), space)]
        shown = check(changed(*own))
        assert shown.question.features[2].all == frozenset(range(len(labels)))


# -- files and numbers -----------------------------------------------------------------------------


def test_files_that_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.json.gz"
    path.write_bytes(gzip.compress(json.dumps(changed()).encode()))
    body, clock = read(path)
    assert parse(body) == changed()
    assert clock.seconds > limits.SECONDS
    path.write_bytes(gzip.compress(b" " * (2**26 + 1)))
    with pytest.raises(Rejected, match="limits: the file is too large"):
        read(path)
    with pytest.raises(Rejected, match="limits: the values are too many"):
        parse(b"[" * 5_000_000)
    with pytest.raises(Rejected, match="characters beyond ASCII"):
        parse('"\u00e9"'.encode())
    with pytest.raises(Rejected, match="a member twice"):
        parse(b'{"a": 1, "a": 1}')
    for text in (b"1.5", b"NaN", b"Infinity"):
        with pytest.raises(Rejected, match="not a number"):
            parse(text)


def test_numbers_that_grow_too_long() -> None:
    with pytest.raises(Rejected, match="limits: numbers grow too long"):
        small(Q(2) ** 2**18)
    with pytest.raises(Rejected, match="not a number, or too long"):
        number("1" * 1001)
    with pytest.raises(Rejected, match="limits: a number beyond all floats"):
        rounded(Q(2) ** 1024, 8)
    with pytest.raises(Rejected, match="limits: a number beyond all floats"):
        rounded(Q(2) ** 128, 4)
    assert reason(changed(((*CLAIM, "distance"), "0x1.0p+9999"))).startswith("malformed: Overflow")
    assert image("single", Q(1, 3)) == Q(11184811, 2**25)


def test_a_deadline() -> None:
    with pytest.raises(Rejected, match="limits: it takes more than -1 seconds"):
        check(changed(), Clock(-1.0))


def test_nothing_is_changed_by_checking() -> None:
    content = changed()
    before = copy.deepcopy(content)
    check(content)
    assert content == before
    assert re.fullmatch("[0-9a-f]{64}", signed(content)["hash"])


@pytest.mark.parametrize(
    ("place", "value", "part"),
    [
        ((*NODES, 0), ["sign", 0, 1, 2], "the proof"),
        (("question", "factual"), ["1", "1/2"], "the question"),
        ((*CLAIM, "distance"), "0x1.0p+9999", "the certificate"),
    ],
)
def test_what_is_malformed_is_named(place: tuple[Any, ...], value: Any, part: str) -> None:
    assert cfxc.check(changed((place, value))).reason.endswith(f", in {part}")

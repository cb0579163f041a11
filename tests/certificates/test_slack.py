"""The least slack: what floats may lose, beside programs that are run in floats."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from cfxc.certificates.checker import Question, check, slack
from tests.certificates.handmade import ONE, changed, reason

X, PROGRAM = ["x", 1], ("program", "outputs")
TREE = {"roots": [0, 3], "nodes": [[0, "2", 1, 2], ["1/3"], ["1/7"], ["1/10"]]}


def asked(*changes: Any) -> Question:
    content = changed(*changes)
    return Question(*(content[part] for part in ("features", "program", "question")))


def run(form: list[Any], values: dict[Any, float], kind: Any, order: tuple[int, ...]) -> Any:
    """A sum of products in floats of a kind, in some order."""
    total = kind(0)
    for i in order:
        source, factor = form[i]
        total = kind(total + kind(kind(float(Q(factor))) * kind(values[tuple(source)])))
    return total


@pytest.mark.parametrize(("floats", "kind"), [("float", np.float64), ("float32", np.float32)])
@pytest.mark.parametrize("own", ["1/2", "7/2"])
def test_sums_in_any_order(floats: str, kind: Any, own: str) -> None:
    """Terms that cancel: what is lost is of the size of the terms, not of the sum."""
    form = [[ONE, "1000001/3"], [X, "-1000000/3"], [["x", 0], "1/3"]]
    question = asked(((*PROGRAM, 1), form))
    allowed = slack.bounds(question, floats)[0]
    values = {("one", 0): 1.0, ("x", 1): float(Q(own)), ("x", 0): 1.0}
    exact = sum((Q(f) * Q(values[tuple(s)]) for s, f in form), Q(0))
    found = [abs(Q(float(run(form, values, kind, order))) - exact)
             for order in permutations(range(3))]  # fmt: skip
    assert 0 < max(found) <= allowed


def test_more_is_lost_in_single_floats_and_by_larger_scores() -> None:
    small = asked()
    large = asked(((*PROGRAM, 1), [[X, "1000"], [ONE, "-1/7"]]))
    for question in (small, large):
        assert 0 < slack.bounds(question, "float")[0] < slack.bounds(question, "float32")[0]
    assert slack.bounds(small, "float")[0] < slack.bounds(large, "float")[0]
    common = [[X, "1000000"], [ONE, "-1/7"]]
    both = asked((PROGRAM, [common, common]))
    assert slack.bounds(both, "float")[0] > Q(1, 10**10), (
        "what cancels in the difference is counted"
    )


def test_trees_units_and_roundings() -> None:
    trees = [(("program", "trees"), [TREE]), ((*PROGRAM, 1), [[["tree", 0, 0], "1"]])]
    assert 0 < slack.bounds(asked(*trees), "float")[0] < Q(1, 10**14)
    for kind in ("unit", "single"):
        made = [(("program", "made"), [[kind, [[X, "1/3"]]]]), ((*PROGRAM, 1), [[[kind, 0], "1"]])]
        assert slack.bounds(asked(*made), "float32")[0] > Q(1, 10**8)
        bare = [(("program", "made"), [[kind, [[X, "1"]]]]), ((*PROGRAM, 1), [[[kind, 0], "1"]])]
        assert slack.bounds(asked(*bare), "float")[0] < Q(1, 10**14), (
            "an exact value is rounded once"
        )
    rounded = slack.bounds(asked(*made), "float")[0]
    assert rounded > Q(1, 10**8), "a rounding of what is off may round the other way"


@pytest.mark.parametrize(
    ("form", "is_exact"),
    [
        ([[ONE, "-1/2"], [X, "1"]], True),
        ([[ONE, "-1/3"], [X, "1"]], False),
        ([[ONE, "-1/2"], [X, "2"]], False),
        ([[ONE, "-1/2"], [X, "1"], [["x", 0], "1"]], False),
        ([[ONE, "-1"], [["is", 2, 0], "1"], [["is", 2, 1], "1"]], True),
        ([[ONE, "-1/2"], [["is", 2, 0], "1"]], False),
        ([], True),
    ],
)
def test_steps_decide_by_what_is_exact(form: list[Any], is_exact: bool) -> None:
    made = [(("program", "made"), [["step", form]]), ((*PROGRAM, 1), [[["step", 0], "1"]]),
            (("semantics",), "float"), (("question", "slack"), "1/1000")]  # fmt: skip
    assert ("slack: a step of what is rounded" in reason(changed(*made))) != is_exact


def test_doubles_in_single_floats_are_rounded() -> None:
    """A step by a double that is read as a single float may go the other way."""
    made = [(("program", "made"), [["step", [[ONE, "-1/2"], [X, "1"]]]]),
            ((*PROGRAM, 1), [[["step", 0], "1"]]), (("semantics",), "float32"),
            (("question", "slack"), "1/1000")]  # fmt: skip
    assert "a step of what is rounded" in reason(changed(*made))
    narrow = [*made, (("features", 1, "float"), 4)]
    assert "a step of what is rounded" not in reason(changed(*narrow))


def test_too_little_is_rejected_and_enough_is_accepted() -> None:
    for floats in ("float", "float32"):
        least = slack.bounds(asked(), floats)[0]
        said = [(("semantics",), floats), (("claim", "lower_bound"), "1/9"),
                (("claim", "epsilon"), "1/3"), (("proof", "radius"), "1/9")]  # fmt: skip
        assert reason(changed(*said, (("question", "slack"), str(least)))) == ""
        less = reason(changed(*said, (("question", "slack"), str(least * Q(999, 1000)))))
        assert less.startswith("question.slack: rounding may do ")


def test_sums_of_too_many_terms() -> None:
    question = asked()
    with pytest.raises(Exception, match="sums of too many terms"):
        slack.Rounding(question, "float32").gamma(2**24)


def test_a_witness_that_needs_the_slack() -> None:
    """The factual's neighbour misses by less than the slack: said, and not hidden."""
    exact = [((*PROGRAM, 1), [[ONE, "-3"], [["x", 0], "1"]]),
             (("question", "slack"), "1/1000000000000"),
             (("semantics",), "float"), (("question", "constraints"), [])]  # fmt: skip
    shown = check(changed(*exact, (("claim", "lower_bound"), "1/9"), (("claim", "epsilon"), "1/3"),
                          (("proof", "radius"), "1/9")))  # fmt: skip
    assert shown.within_slack
    assert not check(changed()).within_slack

"""What was found by people who attacked the checker: each attack, and why it fails now."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import pytest

from cfxc.certificates import checker
from cfxc.certificates.auditing import policy
from cfxc.certificates.auditing.report import facts
from tests.certificates.mutants import rehashed
from tests.certificates.written import NOWHERE, certificate, number, question

NEVER = {"radius": "2", "lemmas": [], "nodes": [["bound", "0", [["row", 0, "1"]], []]]}


def label(name: str, own: Any, labels: list[Any], **more: Any) -> tuple[dict[str, Any], Any]:
    """A feature of labels and the factual's value."""
    feature = {"name": name, "kind": "categorical", "labels": labels, "step": None, "float": 0}
    feature |= {"lower": None, "upper": None, "weight": "1", "action": "free"}
    return {**feature, **more}, own


@pytest.mark.parametrize("labels", [[0, 1, {"float": "1"}], [False, 1, True], [0, False]])
def test_outcomes_of_one_value(labels: list[Any]) -> None:
    """The model says 1; that the program never says 1.0 shows nothing of it."""
    outputs = [[[["x", 0], "1"]], *([[["one", 0], "-1"]] for _ in labels[1:])]
    asked = question([number("n", 2, 0, 10, step=1, width=0)], outputs, labels=labels,
                     target={"label": labels[-1]})  # fmt: skip
    with pytest.raises(checker.Rejected, match="two of one value"):
        checker.check(certificate(asked, NEVER))


def refused(text: str, features: list[Any], *, space: str = "", **more: Any) -> str:
    """Why a policy refuses a certificate whose every number falls short of 1; empty if not."""
    asked = question(features, [[[["one", 0], "-1"]]], **more)
    content = certificate(asked, NEVER)
    content = dict(rehashed({**content, "space": space + content["space"]}))
    shown = checker.check(content)
    try:
        policy.require_no_narrower(shown, text, facts(shown)["constraints"])
    except checker.Rejected as error:
        return str(error)
    return ""


N, M = number("n", 2, 0, 10, step=1, width=0), number("m", 2, 0, 10, step=1, width=0)
STATED = "[[feature]]\nname='{}'\nkind='integer'\nlower=0\nupper=10\n"
NORMS = 'norms = ["0", "1", "0", "0"]\n'


def test_columns_that_are_swapped() -> None:
    both = STATED.format("n") + STATED.format("m")
    assert refused(both, [N, M]) == ""
    assert refused(both, [N, M], space='columns = ["m", "n"]\n') == "policy: other columns"
    named = STATED.format("n") + "columns=['m']\n" + STATED.format("m") + "columns=['n']\n"
    assert "it is made of other columns" in refused(named, [N, M])
    assert (
        refused('others = "any"\n' + STATED.format("m"), [N, M], space='columns = ["m", "n"]\n')
        == ""
    )


def test_constraints_that_look_alike() -> None:
    """1/10 is less than the double 0.1; a feature may be called 3."""
    real = number("x", 0, 0, 1, step="1/10")
    stated = "[[feature]]\nname='x'\nkind='real'\nlower=0\nupper=1\nresolution='0.1'\n"
    for figure, said in ((Fraction(1, 10), "x <= 1/10"), (Fraction(0.1), "")):
        rule = [["ge", [[["one", 0], str(figure)], [["x", 0], "-1"]]]]
        found = refused('constraints = ["x <= 0.1"]\n' + stated, [real], constraints=rule)
        assert found == (f"policy: it has no constraint {said}" if said else "")
    three = number("3", 5, 0, 10, step=1, width=0)
    rule = [["ge", [[["x", 0], "1"], [["x", 1], "-1"]]]]
    text = 'constraints = ["n >= 3"]\n' + STATED.format("n") + STATED.format("3")
    assert 'no constraint n >= "3"' in refused(text, [N, three], constraints=rule)


@pytest.mark.parametrize(
    ("feature", "stated", "said"),
    [
        (number("x", 0, 0, 1, width=4), "kind='real'\ndtype='float64'", "floats of another width"),
        (number("x", 0, 0, 1), "kind='real'\ndtype=['float32']", "floats of another width"),
        (label("x", 0, [0, 1], kind="ordinal"), "kind='ordinal'\nlower=0\nupper=10", "no numbers"),
        (label("x", "b", ["a", "c", "b"], kind="ordinal"),
         "kind='ordinal'\nlabels=['a', 'b', 'c']", "in another order"),
        (label("x", "b", ["a", "b", "c"], kind="ordinal"),
         "kind='ordinal'\nlabels=['a', 'b']", "more labels: distances"),
        (number("x", 0, 0, 1000, step=1, width=0), "kind='integer'\nlower=0\nupper=2",
         "the range is wider, so distances differ"),
    ],
    ids=["single", "double", "no range", "order", "more", "wider"],
)  # fmt: skip
def test_features_that_are_not_the_policy_s(feature: Any, stated: str, said: str) -> None:
    assert said in refused(f"{NORMS}[[feature]]\nname='x'\n{stated}\n", [feature])


def test_many_multipliers_of_many_terms() -> None:
    """Each was a copy of all terms; now they are added in place, and the clock is asked."""
    many = 3000
    one = label("f", 0, list(range(many)))
    asked = question([one], [[[["is", 0, i], "-1"] for i in range(many)]],
                     constraints=[["ge", [[["one", 0], "1"]]]] * many)  # fmt: skip
    node = ["bound", "1", [["row", k, "1"] for k in range(many + 1)], []]
    content = certificate(asked, {**NOWHERE, "nodes": [node]})
    started = time.process_time()
    with pytest.raises(checker.Rejected, match="does not close"):
        checker.check(content)
    assert time.process_time() - started < 5


def test_long_numbers_in_the_scores_of_many_labels() -> None:
    long = "1" * 990 + "/" + "7" * 990
    count = 1024
    one = label("f", 0, list(range(count)))
    outputs = [[[["is", 0, i], long] for i in range(count)], *([] for _ in range(1000))]
    asked = question([one], outputs, labels=list(range(1001)), target={"label": 0})
    with pytest.raises(checker.Rejected, match="too many labels of too many terms"):
        checker.check(certificate(asked, NOWHERE))

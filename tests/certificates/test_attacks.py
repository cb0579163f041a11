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
    with pytest.raises(checker.Rejected, match="two alike"):
        checker.check(certificate(asked, NEVER))


def refused(text: str, features: list[Any], *, space: str = "", **more: Any) -> str:
    """Why a policy refuses a certificate whose every number falls short of 1; empty if not."""
    asked = question(features, [[[["one", 0], "-1"]]], **more)
    content = certificate(asked, NEVER)
    content = dict(rehashed({**content, "space": space + content["space"]}))
    shown = checker.check(content)
    try:
        policy.require_no_narrower(shown, policy.Policy(text), facts(shown)["constraints"])
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
         "kind='ordinal'\nlabels=['a', 'b']", "it has 3 levels, and the policy 2, which makes its"),
        (number("x", 0, 0, 1000, step=1, width=0), "kind='integer'\nlower=0\nupper=2",
         "its range 0 to 1000 is wider than 0 to 2, which makes"),
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


def test_a_slack_that_rounding_does_not_explain() -> None:
    """With a slack of 4 a witness may miss the target by 4; without one it only asks for more."""
    asked = {
        slack: question([N], [[[["x", 0], "1"], [["one", 0], "-9"]]], slack=slack)
        for slack in ("4", "1/1000000000000")
    }
    for each in asked.values():
        with pytest.raises(checker.Rejected, match="does not close"):  # 10 does reach it
            checker.check(certificate(each, NEVER, semantics="float"))
    for value, distance, needs in (("7", "1/2", True), ("10", "4/5", False)):
        found = certificate(asked["4"], NOWHERE | {"radius": "0"}, "feasible", distance=distance,
                            witness=[value], semantics="float")  # fmt: skip
        if not needs:
            assert not checker.check(found).within_slack
            continue
        with pytest.raises(checker.Rejected, match="all that rounding explains"):
            checker.check(found)


def test_a_policy_limits_slack_and_gaps() -> None:
    asked = question([N], [[[["x", 0], "1"], [["one", 0], "-3"]]])
    found = certificate(asked, NOWHERE | {"radius": "0"}, "feasible", distance="4/5",
                        witness=["10"])  # fmt: skip
    shown = checker.check(found)
    stated = NORMS + STATED.format("n")
    policy.require_no_narrower(shown, policy.Policy(stated), [])
    with pytest.raises(checker.Rejected, match="only that the change is feasible"):
        policy.require_no_narrower(shown, policy.Policy("epsilon = 0.01\n" + stated), [])
    loose = shown._replace(question=shown.question)
    loose.question.slack = Fraction(1, 10**9)
    policy.require_no_narrower(loose, policy.Policy("slack = '0.001'\n" + stated), [])
    with pytest.raises(checker.Rejected, match="the slack is 1e-09, more than 0"):
        policy.require_no_narrower(loose, policy.Policy("slack = 0\n" + stated), [])


def test_powers_of_ten_and_signs_in_labels() -> None:
    """1/100000 is less than the double 1e-05; the label 'A+ -' is not 'A- '."""
    real = number("x", 0, 0, 1, step="1/100000")
    stated = "[[feature]]\nname='x'\nkind='real'\nlower=0\nupper=1\nresolution='0.00001'\n"
    for figure, said in ((Fraction(1, 10**5), "x <= 1/100000"), (Fraction(1e-5), "")):
        rule = [["ge", [[["one", 0], str(figure)], [["x", 0], "-1"]]]]
        found = refused('constraints = ["x <= 1e-05"]\n' + stated, [real], constraints=rule)
        assert found == (f"policy: it has no constraint {said}" if said else "")
    rule = [["ge", [[["is", 0, 1], "1"], [["one", 0], "-1"]]]]
    one = label("x", "A- ", ["A- ", "A+ -"])
    found = refused("constraints = ['[x = \"A- \"] >= 1']\n[[feature]]\nname='x'\n"
                    "kind='categorical'\nlabels=['A- ', 'A+ -']\n", [one],
                    constraints=rule)  # fmt: skip
    assert found == 'policy: it has no constraint [x = "A+ -"] >= 1'


def test_labels_of_one_value_of_a_feature() -> None:
    one = label("x", 2, [1, 2, {"float": "1"}])
    with pytest.raises(checker.Rejected, match=r"features\[0\].labels: two alike"):
        checker.check(certificate(question([one], [[[["one", 0], "-1"]]]), NEVER))


@pytest.mark.parametrize(("top", "width", "fits"), [(2**24, 4, True), (2**25, 4, False),
                                                    (2**25, 8, True), (10, 0, True)])  # fmt: skip
def test_whole_numbers_that_floats_leave_out(top: int, width: int, fits: bool) -> None:
    """Odd numbers beyond 2^24 are no single floats: to leave them out is to restrict."""
    x = number("x", 0, 0, top, step=1, width=width)
    x[0]["kind"] = "integer"
    stated = f"{NORMS}[[feature]]\nname='x'\nkind='integer'\nlower=0\nupper={top}\n"
    assert (refused(stated, [x]) == "") == fits
    line = facts(checker.check(certificate(question([x], [[[["one", 0], "-1"]]]), NEVER)))
    grid = "steps of 1, floats of 4 bytes" if width == 4 else "steps of 1"
    assert line["features"][0]["grid"] == grid


def test_trees_of_a_constraint_are_told_from_others() -> None:
    texts = []
    for cut in ("8", "7"):
        nodes = [[0, cut, 1, 2], ["1"], ["-1"]]
        asked = question([N], [[[["one", 0], "-1"]]], trees=[{"roots": [0], "nodes": nodes}],
                         constraints=[["ge", [[["tree", 0, 0], "1"]]]])  # fmt: skip
        texts += facts(checker.check(certificate(asked, NEVER)))["constraints"]
    assert len(set(texts)) == 2


def test_grids_of_long_steps_mind_the_clock() -> None:
    end = "1" + "0" * 300 + "/3"
    many = [number(f"f{j}", 0, "-" + end, end, step="1/" + "7" * 999) for j in range(40)]
    content = certificate(question(many, [[[["one", 0], "-1"]]]), NEVER)
    with pytest.raises(checker.Rejected, match=r"more than 0\.5 seconds"):
        checker.check(content, checker.Clock(0.5))

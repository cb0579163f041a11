"""The report: made from what was checked, and no text of the file's author can pass for more."""

from __future__ import annotations

import math
import re
from fractions import Fraction as Q
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cfxc
from cfxc.certificates import checker
from cfxc.certificates.auditing import report
from tests.certificates.handmade import CODE, NEAREST, ONE, SPACE, changed

X, N, CONSTRAINTS = ["x", 1], ["x", 0], ("question", "constraints")
NASTY = [
    "a\nclaim: infeasible", "\x1b[2Jaccepted", "\u202ehcaer ni", "\ud800", "\u2028x", "a\rb",
    "\x00", "a | b | c", "`rm`", "<script>x</script>", "&rlm;x", "[a](http://b)", "\u200bx",
    "status",     'a", "b', "a\\", "# head", "distance",
]  # fmt: skip


def found(*changes: Any) -> cfxc.Report:
    held = cfxc.check(changed(*changes))
    assert held.ok, held.reason
    return held


def named(name: str) -> cfxc.Report:
    """With a feature, a label and a model of this name."""
    toml = "".join(f"\\u{ord(c):04x}" if ord(c) < 2**16 else c for c in name)
    labels = ["a", "b", name]
    space = SPACE.replace('"n"', f'"{toml}"').replace('["a", "b", "c"]', f'["a", "b", "{toml}"]')
    changes = [
        (("features", 0, "name"), name), (("features", 2), {**CODE, "labels": labels}),
        (("model",), {"name": name, "sha256": "0" * 64}), (("space",), space),
    ]  # fmt: skip
    return found(*changes)


@pytest.mark.parametrize("name", [name for name in NASTY if name != "\ud800"])
def test_names_stay_on_their_line_and_in_their_cell(name: str) -> None:
    plain, odd = found(), named(name)
    text, page = odd.summary(), odd.to_markdown()
    assert len(text.splitlines()) == len(plain.summary().splitlines())
    assert len(page.splitlines()) == len(plain.to_markdown().splitlines())
    assert all(sign.isprintable() for sign in (text + page).replace("\n", ""))
    assert [line for line in text.splitlines() if line.startswith("claim")] == ["claim: optimal"]
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)
    body = page[: page.index("As it was checked")]
    assert not re.search(r"(?<!\\)[<&`\[\]]", body)
    quotes = [f["range"] for f in odd.facts["features"]][2]
    assert len(re.findall(r'(?<!\\)"', quotes.replace(r"\\", ""))) == 6, "labels end where they end"
    assert text.encode()


def test_a_lone_surrogate() -> None:
    """It cannot be in TOML; in labels of the program it can."""
    labels = [(("program", "labels"), ["\ud800", "yes"])]
    held = found(*labels)
    assert held.facts["outcome"] == r'"\ud800"'
    assert held.summary().encode()
    assert held.to_markdown().encode()
    assert report.printable("\ud800\u202e") == r"\ud800\u202e"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (["ge", [[N, "1"], [ONE, "-1000"]]], "n >= 1000"),
        (["gt", [[N, "-1"], [ONE, "5"]]], "n < 5"),
        (["ge", [[N, "2"], [X, "-1/2"], [ONE, "1"]]], "2*n >= 0.5*x - 1"),
        (["ge", [[N, "1"], [X, "-1"]]], "n >= x"),
        (["ge", []], "always"),
        (["gt", [[ONE, "-1"]]], "never"),
        (["not", ["gt", [[["is", 2, 1], "1"], [ONE, "-1/2"]]]], 'not ([code = "b"] > 0.5)'),
        (["and"], "always"),
        (["not", ["or"]], "not (never)"),
        (["or", ["gt", []], ["ge", [[N, "1"]]]], "n >= 0"),
        (["or", ["ge", []], ["ge", [[N, "1"]]]], "always"),
        (["or", ["and", ["ge", [[N, "1"]]], ["ge", [[X, "1"]]]], ["ge", [[X, "1"]]]],
         "(n >= 0 and x >= 0) or x >= 0"),
        (["and", ["or", ["ge", [[N, "1"]]]]], "n >= 0"),
        (["ge", [[N, "1/3"], [ONE, "1/7"]]], "1/3*n >= -1/7"),
        (["ge", [[N, f"{3**60}/{2**60 - 1}"]]], f"about {3**60 / (2**60 - 1)!r}*n >= 0"),
        (["ge", [[N, str(10**400)]]], "about 2^1328*n >= 0"),
        (["ge", [[ONE, str(-(10**400))], [N, "1"]]], "n >= about 2^1328"),
        (["ge", [[N, f"1/{10**900}"]]], "about 0*n >= 0"),
    ],
)  # fmt: skip
def test_constraints_are_written_from_what_is_checked(rule: Any, text: str) -> None:
    question = checker.Question(
        *(changed((CONSTRAINTS, [rule]))[part] for part in ("features", "program", "question"))
    )
    assert [report.condition(question, truth) for truth in question.truths] == [text]


def test_what_is_made_on_the_way_is_written_out() -> None:
    tree = {"roots": [0], "nodes": [[0, "2", 1, 2], ["0"], ["1"]]}
    made = [["unit", [[N, "1"]]], ["step", [[["unit", 0], "2"]]], ["single", [[X, "1/3"]]]]
    rule = ["ge", [[["step", 1], "1"], [["single", 2], "1"], [["tree", 0, 0], "1"]]]
    parts = changed((("program", "made"), made), (("program", "trees"), [tree]),
                    (CONSTRAINTS, [rule]))  # fmt: skip
    question = checker.Question(*(parts[part] for part in ("features", "program", "question")))
    (text,) = [report.condition(question, truth) for truth in question.truths]
    assert text == "[2*max(0, n) >= 0] + float32(1/3*x) + trees0#f2824bdf109a9d9c[0] >= 0"


@pytest.mark.parametrize(
    ("steps", "code", "most", "text"),
    [
        ([(1, 0), (-1, 0)], 0, -1, "at most 2 of 2 features change: n, code"),
        ([(1, 0), (-1, 0)], 0, -2, "at most 1 of 2 features change: n, code"),
        ([(1, 0), (-1, 0)], 0, -4, None),
        ([(1, 0), (-1, 0)], 1, -2, None),
        ([(1, 1), (-1, 0)], 0, -2, None),
        ([(1, 0), (1, 0)], 0, -2, None),
        ([(1, 0)], 0, -2, None),
        ([(2, 0), (-1, 0)], 0, -2, None),
    ],
)
def test_a_cap_on_changes_is_said_in_words(
    steps: list[tuple[int, int]], code: int, most: int, text: str | None
) -> None:
    """A form that differs from it in anything is written out."""
    number, _, letter = changed()["question"]["factual"]
    made = [
        ["step", [[N, str(sign)], [ONE, str(-sign * (Q(number) + off))]]] for sign, off in steps
    ]
    label = ["is", 2, ("ab".index(letter) + code) % 2]
    rule = ["ge", [*([["step", k], "1"] for k in range(len(made))), [label, "1"], [ONE, str(most)]]]
    parts = changed((("program", "made"), made), (CONSTRAINTS, [rule]))
    question = checker.Question(*(parts[part] for part in ("features", "program", "question")))
    (found,) = [report.condition(question, truth) for truth in question.truths]
    assert found == text if text else "[" in found


def test_warnings() -> None:
    """What makes a claim empty is said: the outcome is there already, or nothing may change."""
    gaps = [
        "Epsilon is 0.25: something nearer by as large a share may exist.",
        "The witness is farther than the bound by more than 1 %: something nearer may exist.",
    ]
    assert found().facts["warnings"] == gaps
    assert found((("claim", "status"), "feasible"), (("claim", "epsilon"), "1/100")) \
        .facts["warnings"] == gaps[1:]  # fmt: skip
    own = found((("question", "target"), {"label": "no"}), (("witness",), ["1", "1/2", "a"]),
                (("claim",), {"status": "optimal", "distance": "0", "lower_bound": "0",
                              "epsilon": "0"}), (("proof", "radius"), "0"),
                (("proof", "nodes"), [["distance"]]))  # fmt: skip
    assert own.facts["warnings"] == ["The factual has the target outcome already."]
    assert "NOTE: The factual has the target outcome already." in own.summary()
    space = SPACE.replace("dtype", 'action = "fixed"\ndtype')
    still = found(
        *(((("features", j, "action"), "fixed")) for j in range(3)), (("space",), space),
        (("claim",), {"status": "infeasible", "distance": None, "lower_bound": "0",
                      "epsilon": "0"}), (("witness",), None),
        (("proof", "nodes"), [["bound", "0", [["row", 0, "1"]], []]]),
    )  # fmt: skip
    assert still.facts["warnings"] == [
        "No feature may change.",
        "Constraints: 1. Without them a change may exist.",
    ]
    assert (
        "No change within these ranges, grids and constraints has the target outcome."
        in still.to_markdown()
    )
    assert still.facts["changes"] == {}
    assert still.facts["distance"] is None


def test_few_features_that_may_change_and_a_label_without_its_margin() -> None:
    space = SPACE + "".join(f'[[feature]]\nname = "{k}"\nkind = "integer"\nlower = 0\nupper = 4\n'
                            'action = "fixed"\ndtype = "int64"\n' for k in "abcdefg")  # fmt: skip
    more = [{**NEAREST["features"][0], "name": k, "action": "fixed"} for k in "abcdefg"]
    stay = (("proof",), {"radius": "0", "lemmas": [], "nodes": [["distance"]]})
    claim = {"status": "feasible", "distance": "1/20", "lower_bound": "1/20", "epsilon": "0"}
    claim = {**claim, "lower_bound": "0"}
    target = {"label": "no", "margin": "2", "least": None}
    held = found((("features",), NEAREST["features"] + more), (("space",), space), stay,
                 (("claim",), {**claim, "distance": "1/40"}), (("question", "target"), target),
                 (("question", "factual"), ["1", "1/2", "a", *"0000000"]),
                 (("witness",), ["0", "1/2", "a", *"0000000"]))  # fmt: skip
    assert held.facts["warnings"][:2] == [
        "The factual has the target label already, and misses what is asked of its score.",
        "Only 3 of 10 features may change.",
    ]
    assert "features, of which 3 of 10 may change (factual; range;" in held.summary()


def test_the_slack_that_a_witness_needs_is_said() -> None:
    slack = [(("question", "slack"), "1/1000000000000"), (("semantics",), "float"),
             (("witness", 0), "2"),
             (("program", "outputs", 1, 0), [ONE, "-3"]), (("witness", 1), "1"),
             (("claim", "lower_bound"), "0"), (("claim", "status"), "feasible"),
             (("proof", "radius"), "0"), (("proof", "nodes"), [["distance"]]),
             (("claim", "distance"), "1/8")]  # fmt: skip
    held = found(*slack)
    assert held.facts["warnings"][-1] == (
        "In exact arithmetic the witness misses the outcome by less than the slack."
    )
    assert held.facts["slack"] == "1e-12"


def test_the_whole_question_is_said() -> None:
    held = found()
    text = held.summary()
    assert held.facts["target"] == '"yes"'
    for line in (
        "model: no file; not run: that the program is the model's is not shown",
        'target: "yes"', "factual's outcome: \"no\"", "distance: 1 l1",
        "  n: 1; 0 to 4; steps of 1; any; 1", "  x: 0.5; 0 to 4; steps of 0.5; any; 1",
        '  code: "a"; "a", "b", "c"; labels; any; 1', "constraint 1: x <= 4",
        "epsilon: 0.25", "claim: optimal", "  n: 1 -> 3", report.NOT_SHOWN,
    ):  # fmt: skip
        assert line in text.splitlines()
    assert held.content["hash"] in text
    floats = found((("features", 1, "step"), None),
                   (("space",), SPACE.replace('resolution = "0.5"\n', "")))  # fmt: skip
    assert "  x: 0.5; 0 to 4; floats of 8 bytes; any; 1" in floats.summary()


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (
            {"label": "yes", "margin": "1/2", "least": None},
            '"yes", by a margin of 0.5 '
            "(a probability of 0.622459, rounded, if the scores are log odds)",
        ),
        ({"label": "yes", "margin": "0", "least": "1/4"}, '"yes", with a score of at least 0.25'),
        ({"label": "yes", "margin": "0", "least": "0"}, '"yes", with a score of at least 0'),
    ],
)
def test_targets(target: Any, text: str) -> None:
    claim = {"status": "feasible", "distance": "1/4", "lower_bound": "1/8", "epsilon": "0"}
    held = found((("question", "target"), target), (("claim",), claim),
                 (("witness",), ["4", "1/2", "a"]))  # fmt: skip
    assert held.facts["target"] == text


def test_ranges_and_floats_as_labels() -> None:
    number = [(("program", "labels"), None), (("program", "outputs"), [[[N, "1"]]])]
    both = found(*number, (("question", "target"), {"lower": "3", "upper": "7/2"}))
    assert both.facts["target"] == "at least 3 and at most 3.5"
    assert both.facts["outcome"] == "1"
    half = found((("program", "labels"), [{"float": "1/2"}, True]),
                 (("question", "target"), {"label": True}))  # fmt: skip
    assert half.facts["outcome"] == "0.5"
    assert half.facts["target"] == "True"


def test_of_l2_the_root_is_shown() -> None:
    norms = {"l0": "0", "l1": "0", "linf": "0", "l2": "1"}
    held = found((("question", "norms"), norms), (("claim",), {"status": "feasible",
        "distance": "1/12", "lower_bound": "0", "epsilon": "0"}), (("proof",), {"radius": "0",
        "lemmas": [], "nodes": [["distance"]]}))  # fmt: skip
    assert held.facts["distance"] == pytest.approx(float(Q(1, 12)) ** 0.5)
    assert held.facts["distance by"] == "1 l2"


def test_ordinal_features_and_one_way() -> None:
    space = NEAREST["space"].replace('"categorical"', '"ordinal"\naction = "increase"')
    held = found((("features", 2, "kind"), "ordinal"), (("features", 2, "action"), "increase"),
                 (("space",), space), (("proof", "radius"), "1/12"),
                 (("claim", "lower_bound"), "1/12"), (("claim", "epsilon"), "1/2"))  # fmt: skip
    assert '  code: "a"; "a", "b", "c"; in order; up only; 1' in held.summary()


@given(st.fractions(0, 1), st.sampled_from([1, 2]))
@example(Q(1, 3), 1)
@example(Q(1, 10**400), 1)
def test_shown_distances_are_rounded_to_the_safe_side(value: Q, power: int) -> None:
    """No bound is shown that is larger than what was proved, no distance that is smaller."""
    low, high = report._double(value, power, -1), report._double(value, power, 1)
    assert Q(low) ** power <= value <= Q(high) ** power
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)

"""VIPR files prove what certificates claim, to a checker of our own and to viprchk."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction as Q
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from cfxc.certificates.checker import Question, number
from cfxc.certificates.export.vipr import vipr
from cfxc.certificates.export.vipr.problem import Problem
from cfxc.certificates.export.vipr.program import nearest
from cfxc.certificates.export.vipr.relaxation import Shown, duals
from cfxc.certificates.export.vipr.search import Node, Search
from cfxc.certificates.export.vipr.text import Derivation
from cfxc.errors import UnsupportedError
from tests.certificates.export.vipr_checker import RejectedError, proved
from tests.certificates.oracle import Meaning, values
from tests.certificates.samples import SAMPLES, answered
from tests.certificates.test_certificates import KINDS, explained
from tests.solvers import kinds

VIPRCHK = shutil.which("viprchk")
LINEAR = [name for name in SAMPLES if "l2" not in name]
MIX = {"l0": 0.25, "l1": 0.5, "linf": 0.25}


@lru_cache
def content(name: str) -> dict[str, Any]:
    return dict(answered(name).certificate.to_dict())


@lru_cache
def exported(name: str) -> tuple[str, dict[str, Any]]:
    return vipr(content(name))


def verified(text: str, folder: Path) -> bool:
    """What viprchk says; both its exit code and its words count."""
    path = folder / "certificate.vipr"
    path.write_text(text, encoding="ascii")
    command = [str(VIPRCHK), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode == 0 and any("verified" in line for line in done.stdout.splitlines())


def require(text: str, manifest: dict[str, Any], certificate: dict[str, Any]) -> None:
    """The file holds; what it proves is what the manifest says, and no more than is true."""
    lower, upper = proved(text)
    assert manifest["certificate"] == certificate["hash"]
    assert json.loads(json.dumps(manifest)) == manifest
    if lower is None:
        assert certificate["claim"]["status"] == "infeasible"
        assert manifest["proved"] == {"status": "infeasible"}
        return
    assert manifest["proved"] == {"exact": str(lower), "float": float(lower)}
    if certificate["claim"]["status"] == "infeasible":
        assert upper is None
        return
    distance, claimed = (number(certificate["claim"][x]) for x in ("distance", "lower_bound"))
    assert upper == distance
    assert lower <= claimed <= distance
    assert manifest["reaches_claim"] == (lower == claimed)


@pytest.mark.parametrize("name", LINEAR)
def test_samples(name: str) -> None:
    text, manifest = exported(name)
    require(text, manifest, content(name))
    assert manifest["reaches_claim"]


@pytest.mark.parametrize("name", LINEAR)
def test_viprchk(name: str, tmp_path: Path) -> None:
    if VIPRCHK is None:
        pytest.skip("viprchk is not on PATH: its verdict is not known")
    assert verified(exported(name)[0], tmp_path)


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore:categorical_feature keyword")
@pytest.mark.parametrize("distance", ["l0", "l1", "linf", "mix"])
@pytest.mark.parametrize(("source", "kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_every_kind(source: Any, kind: str, distance: str, tmp_path: Path) -> None:
    result = explained(source, kind, MIX if distance == "mix" else distance, 3)
    certificate = result.certificate.to_dict()
    text, manifest = vipr(certificate)
    require(text, manifest, certificate)
    assert manifest["reaches_claim"]
    assert VIPRCHK is None or verified(text, tmp_path)


@pytest.mark.parametrize("seed", [5, 7])
@pytest.mark.parametrize("kind", ["relu", "forest", "logistic", "extra trees of 3"])
def test_no_point_of_the_space_is_outside_of_the_program(kind: str, seed: int) -> None:
    """Whatever is admissible and has the outcome is a point of the program, as far away."""
    certificate = explained(kinds, kind, MIX, seed).certificate.to_dict()
    require_all_inside(certificate)


@pytest.mark.parametrize("name", LINEAR)
def test_no_point_of_a_sample_is_outside_of_its_program(name: str) -> None:
    require_all_inside(content(name))


def require_all_inside(certificate: dict[str, Any]) -> None:
    meaning, program = Meaning(certificate), problem_of(certificate)
    rules = certificate["question"]["constraints"]
    choices = [values(certificate, j)[::2] for j in range(len(certificate["features"]))]
    inside = 0
    for point in points(choices):
        at = program.values(point)
        bounds = zip(program.columns, at, strict=True)
        assert all(c.low <= v <= c.high and (not c.whole or v.denominator == 1) for c, v in bounds)
        asked = meaning.reached(point) and all(meaning.holds(rule, point) for rule in rules)
        free = [row for row in program.rows if row.group not in ("target", "constraint", "either")]
        assert all(row.holds(at) for row in (program.rows if asked else free))
        cost = sum((f * at[j] for j, f in program.objective.items()), Q(0))
        assert cost == meaning.distance(point)
        inside += asked
    assert inside or certificate["claim"]["status"] == "infeasible"


def problem_of(certificate: dict[str, Any]) -> Problem:
    return nearest(Question(*(certificate[x] for x in ("features", "program", "question"))))


def points(choices: list[list[Any]]) -> list[list[Any]]:
    found: list[list[Any]] = [[]]
    for each in choices:
        found = [[*start, value] for start in found for value in each]
    return found[:: max(1, len(found) // 300)]


def later_multiplier(text: str) -> str:
    """Another multiplier in the first linear combination."""
    found = re.search(r"\{ lin [0-9]+ [0-9]+ (\S+)", text)
    assert found
    return text[: found.start(1)] + str(Q(found[1]) + 1) + text[found.end(1) :]


def higher_bound(text: str) -> str:
    """A bound beyond the nearest point, to be proved and said to be derived."""
    lower, upper = proved(text)
    assert lower is not None
    assert upper is not None
    higher = text.replace(f"RTP range {lower} {upper}", f"RTP range {lower} inf")
    return higher.replace(f" {lower} ", f" {upper + Q(1, 1000)} ")


def lower_witness(text: str) -> str:
    """A nearer witness than there is."""
    lower, upper = proved(text)
    assert lower is not None
    assert upper is not None
    return text.replace(f"RTP range {lower} {upper}", f"RTP range {lower} {lower}")


def other_row(text: str) -> str:
    """A row of the program asks for less."""
    found = re.search(r"target_[0-9]+ G (\S+)", text)
    assert found
    return text[: found.start(1)] + str(Q(found[1]) - 100) + text[found.end(1) :]


def missing_side(text: str) -> str:
    """A split whose sides leave a gap."""
    found = re.search(r"D[0-9]+ G (\S+) 1 [0-9]+ 1 \{ asm \}", text)
    assert found
    return text[: found.start(1)] + str(Q(found[1]) + 1) + text[found.end(1) :]


@pytest.mark.parametrize(
    "spoil", [later_multiplier, higher_bound, lower_witness, other_row, missing_side]
)
@pytest.mark.parametrize("name", ["forest", "network", "constraints"])
def test_a_changed_file_is_rejected(spoil: Callable[[str], str], name: str, tmp_path: Path) -> None:
    text = spoil(exported(name)[0])
    assert text != exported(name)[0]
    with pytest.raises(RejectedError):
        proved(text)
    assert VIPRCHK is None or not verified(text, tmp_path)


def test_a_truncated_file_is_rejected() -> None:
    text, _ = exported("network")
    with pytest.raises(RejectedError):
        proved(text[: text.rindex("\nD")])


def test_the_manifest_says_what_stands_for_what() -> None:
    text, manifest = exported("forest")
    lines = text.splitlines()
    assert lines[0] == f"% cfxc certificate {content('forest')['hash']}"
    count = int(lines[2].split()[1])
    assert list(manifest["variables"]) == lines[3 : 3 + count]
    rows = int(next(line for line in lines if line.startswith("CON")).split()[1])
    covered = [i for g in manifest["rows"] for i in range(g["first"], g["last"] + 1)]
    assert covered == list(range(rows))
    assert all(group["why"] for group in manifest["rows"])
    cut = next(v for v in manifest["variables"].values() if v["kind"] == "test")
    assert Q(cut["at_most"]) <= Q(cut["cuts"][0]) < Q(cut["else_at_least"])


def test_l2_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="l2 is not linear"):
        vipr(content("boosting l2"))
    with pytest.raises(UnsupportedError, match="l2 is not linear"):
        vipr(content("l2 and penalty"))


def test_too_little_time_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"no proof within the time limit: .* whole columns"):
        vipr(content("forest"), seconds=1e-6)


def test_a_claim_beyond_the_program_is_lowered_to_what_is_true() -> None:
    """A claim that is false is not proved; the bound is that of the nearest point."""
    certificate = dict(content("forest"))
    distance = number(certificate["claim"]["distance"])
    certificate["claim"] = {**certificate["claim"], "lower_bound": str(distance + 1)}
    text, manifest = vipr({**certificate, "witness": None})
    assert not manifest["reaches_claim"]
    assert manifest["notes"][0].startswith("the certificate claims")
    lower, upper = proved(text)
    assert upper is None
    assert lower is not None
    assert distance - Q(1, 10**9) <= lower <= distance


def test_a_false_claim_that_nothing_is_there_is_not_proved() -> None:
    certificate = dict(content("network"))
    distance = number(certificate["claim"]["distance"])
    certificate["claim"] = {**certificate["claim"], "status": "infeasible"}
    text, manifest = vipr({**certificate, "witness": None})
    lower, _ = proved(text)
    assert lower is not None
    assert lower <= distance
    assert manifest["claimed"] == {"status": "infeasible"}
    assert "exact" in manifest["proved"]


def test_branch_and_bound_of_a_knapsack() -> None:
    """Whole numbers beside the optimum of the relaxation: 3 x + 5 y >= 7, x + y least."""
    problem = Problem()
    x = problem.column("x", (0, 4), lambda _: Q(0), whole=True)
    y = problem.column("y", (0, 1), lambda _: Q(1), whole=True)
    problem.row("cover", {0: Q(3), 1: Q(5)}, "G", {-1: Q(7)}, "test")
    problem.cost(Q(1), x)
    problem.cost(Q(1), y)
    search = Search(problem, Q(2))
    search.run()
    assert (search.aim, search.short) == (Q(2), False)
    search = Search(problem, Q(3))
    search.run()
    assert search.aim is not None
    assert Q(2) - Q(1, 10**9) < search.aim <= 2


def test_what_one_feature_takes_too_far_is_split_off() -> None:
    """Each such part is closed by the rows of features alone, before any other."""
    problem = problem_of(content("forest"))
    aim = Q(1, 50)
    search, root = Search(problem, aim), Node()
    rest, bounds = search._trunk(root, search.now)
    node, fixed = root, 0
    while node is not rest:
        assert node.below is not None
        assert node.above is not None
        far, node = (node.below, node.above) if node.below.shown else (node.above, node.below)
        assert far.shown is not None
        assert far.shown.value >= aim
        assert all(i < problem.first for i in far.shown.rows)
        fixed += 1
    assert fixed == sum(low == high for low, high in zip(*bounds, strict=True)) > 0


@pytest.mark.parametrize("where", ["columns", "rows", "rational equations", "derivation"])
def test_the_time_ends_everywhere(where: str) -> None:
    problem = Problem()
    x, y = (problem.column(name, (0, 1), lambda _: Q(0)) for name in "xy")
    problem.row("one", {**x, **y}, "G", {-1: Q(1, 2)}, "test")
    problem.row("two", {**x, 1: Q(2)}, "G", {-1: Q(1, 3)}, "test")
    problem.deadline = 0.0
    late = {
        "columns": lambda: problem.column("z", (0, 1), lambda _: Q(0)),
        "rows": lambda: problem.row("late", x, "G", {}, "test"),
        "rational equations": lambda: duals(problem, ([0, 1], [0, 1]), {}, {}),
        "derivation": lambda: Derivation(problem, Node(Shown(Q(1), False, {}, {})), Q(1)),
    }
    with pytest.raises(UnsupportedError, match="within the time limit"):
        late[where]()

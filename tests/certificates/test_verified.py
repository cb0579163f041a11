"""``cfxc-verified``, the checker that is proved in Coq, comes to the verdicts of the Python one."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

import cfxc
from cfxc.certificates import checker
from cfxc.certificates.auditing.policy import require_same
from cfxc.certificates.checker import smooth
from cfxc.certificates.checker.smooth import CURVES
from cfxc.cli.app import app
from tests.certificates.false_certificates import draw_honest
from tests.certificates.handmade import NEAREST, signed
from tests.certificates.hostile_files import FAMILIES, Body
from tests.certificates.mutants import mutants, rehashed
from tests.certificates.samples import SAMPLES, answered
from tests.certificates.test_smooth import CUT, asking, claimed
from tests.certificates.written import NOWHERE, certificate, number, question

TOOL = shutil.which("cfxc-verified")
there = pytest.mark.skipif(TOOL is None, reason="cfxc-verified is not on PATH: make verified")
AT_ONCE = 400  # files


def verdicts(bodies: Iterable[bytes], folder: Path) -> list[str]:
    """One of "accepted", "rejected" and "not covered" for each."""
    said, rest = list[str](), iter(bodies)
    while chunk := list(islice(rest, AT_ONCE)):
        paths = [folder / f"{i}.json" for i in range(len(chunk))]
        for path, body in zip(paths, chunk, strict=True):
            path.write_bytes(body)
        done = subprocess.run(
            [str(TOOL), "--seconds", "1", *paths], capture_output=True, text=True, check=False
        )
        lines = done.stdout.splitlines()
        assert len(lines) == len(chunk), done.stderr
        said += [
            line.removeprefix(f"{path}: ").partition(": ")[0]
            for path, line in zip(paths, lines, strict=True)
        ]
    return said


def expected(content: Any) -> str:
    """The verdict of the Python checker; "limits" where it has one that the other has not."""
    try:
        shown = checker.check(content)
        require_same(shown.space, shown.question.features)
    except checker.Rejected as error:
        return "limits" if str(error).startswith("limits: ") else "rejected"
    return "accepted"


def bodies(contents: Sequence[Any]) -> Iterator[bytes]:
    return (json.dumps(content).encode() for content in contents)


@there
def test_honest_certificates(tmp_path: Path) -> None:
    contents = [answered(name).certificate.to_dict() for name in SAMPLES]
    found = dict(zip(SAMPLES, verdicts(bodies(contents), tmp_path), strict=True))
    assert found == dict.fromkeys(SAMPLES, "accepted")


@there
def test_small_programs_of_every_kind(tmp_path: Path) -> None:
    rng = Random(3)
    contents = [draw_honest(rng).certificate() for _ in range(80)]
    made = {entry[0] for content in contents for entry in content["program"]["made"]}
    assert made >= {*CURVES, "unit", "product", "single", "step"}
    assert set(verdicts(bodies(contents), tmp_path)) == {"accepted"}


@there
def test_people_are_counted(tmp_path: Path) -> None:
    """Whose bound lies beyond, or who has no counterfactual; not whose file is rejected."""
    certificates = [answered(name).certificate for name in ("forest", "infeasible")]
    paths = [tmp_path / f"{i}.json" for i in range(3)]
    bound = checker.check(certificates[0].to_dict()).bound
    for path, one in zip(paths, certificates, strict=False):
        one.save(path)
    paths[2].write_text("{}")
    for radius, count in ((bound / 2, 2), (bound, 1)):
        order = [str(TOOL), "--beyond", str(radius), *map(str, paths)]
        done = subprocess.run(order, capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[-1] == f"nothing is as near as {radius}: {count} of 3"
        assert done.returncode == 1


@there
@pytest.mark.parametrize("name", SAMPLES)
def test_mutants(name: str, step: int, tmp_path: Path) -> None:
    content = answered(name).certificate.to_dict()
    made = [mutant for _, mutant in islice(mutants(content), 0, None, 2 * step)]
    pairs = zip(map(expected, made), verdicts(bodies(made), tmp_path), strict=True)
    differ = [
        (mutant, mine, its)
        for mutant, (mine, its) in zip(made, pairs, strict=True)
        if mine != its and mine != "limits" and its != "not covered"
    ]
    assert not differ
    assert len(made) > 50


@there
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_hostile_files(family: Callable[[], Iterator[Body]], tmp_path: Path) -> None:
    """None is accepted that the Python checker rejects; none breaks it."""
    plain = [(name, body) for name, body in family() if not name.endswith(".gz")]
    for (name, body), verdict in zip(
        plain, verdicts((body for _, body in plain), tmp_path), strict=True
    ):
        assert verdict in ("accepted", "rejected", "not covered"), name
        if verdict == "accepted":
            assert expected(checker.parse(body)) != "rejected", name


@there
def test_what_is_no_file_and_no_number(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe\nx: accepted"
    os.mkfifo(pipe)
    done = subprocess.run([str(TOOL), str(pipe)], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert done.stdout.endswith("accepted: rejected\n")
    assert done.stderr.endswith("accepted: it cannot be read\n")
    assert done.stdout.count("\n") == done.stderr.count("\n") == 1
    for odd in ("inf", "0", "x"):
        done = subprocess.run([str(TOOL), "--seconds", odd, "x"], capture_output=True, text=True)
        assert done.returncode == 2
        assert "usage" in done.stderr


@there
def test_a_witness_at_a_tie(tmp_path: Path) -> None:
    """σ(0) is exactly a half; σ(1) at least what is below it, and not known to be at least more."""
    nodes = [["cut", 0, "-1", 1, 2], *CUT[1:]]
    half = asking("sigmoid", "-1/2", own=-4)
    met = claimed(half, nodes, "1/2", "0", "1/2")
    wrong = claimed(half, [["distance"]], "1/2", "0", "1/2")
    below, above = (smooth.value("sigmoid", Fraction(1), up) for up in (False, True))
    nodes = [["cut", 0, "0", 1, 2], *CUT[1:]]
    just, not_known = (
        claimed(asking("sigmoid", f"-{limit}", own=-3), nodes, "1/2", "1", "1/2")
        for limit in (below, above)
    )
    made = [met, wrong, just, not_known]
    assert list(map(expected, made)) == ["accepted", "rejected", "accepted", "limits"]
    found = verdicts(bodies(made), tmp_path)
    assert found == ["accepted", "rejected", "accepted", "not covered"]


@there
def test_numbers_of_smooth_functions(tmp_path: Path) -> None:
    """A witness at what a value is rounded down to: accepted; at the next number: not."""
    rng, made, wanted = Random(5), list[Any](), list[str]()
    for kind in CURVES:
        for _ in range(10):
            place = rng.randrange(-3, 5)
            low = smooth.value(kind, Fraction(place), False)
            for limit in (low, low + Fraction(1, smooth.ONE)):
                content = asking(kind, f"{-limit}", own=-4)
                nodes = [["cut", 0, f"{place - 1}", 1, 2], *CUT[1:]]
                distance = f"{Fraction(place + 4, 8)}"
                made.append(claimed(content, nodes, distance, f"{place}", distance))
                wanted.append(expected(made[-1]))
    assert {*wanted} >= {"accepted", "limits"}
    found = verdicts(bodies(made), tmp_path)
    assert [each.replace("not covered", "limits") for each in found] == wanted


@there
@pytest.mark.parametrize("places", [300, 350, 399])
def test_a_step_that_is_tiny(places: int, tmp_path: Path) -> None:
    """Doubles on a grid of which many numbers round to each: the next one is found."""
    first, before = Fraction(0.6), Fraction(math.nextafter(0.6, 0))
    features = [number("a", 0, 0, 1, step=Fraction(1, 10**places), width=8)]
    content = question(features, [[[["x", 0], "1"], [["one", 0], f"{-first}"]]])
    nodes = [["cut", 0, f"{before}", 1, 2], *CUT[1:]]
    made = [claimed(content, nodes, f"{first}", f"{first}", f"{first}")]
    assert expected(made[0]) == "accepted"
    assert verdicts(bodies(made), tmp_path) == ["accepted"]


@there
def test_reasons_that_cannot_be_written_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("{}")
    for reasons in ("2>&-", "2>/dev/full"):
        order = ["sh", "-c", f'"$0" "$1" {reasons}', str(TOOL), str(path)]
        done = subprocess.run(order, capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == (f"{path}: rejected\n", 1)


OTHER_SPACES = [
    ('action = "free"', 'action = "fixed"'),
    ("lower = ", "lower = 1"),
    ("upper = ", "upper = 1"),
    ("version = 1", "version = 2"),
    ("[[feature]]", "[[feature]]\nweight = 2"),
    ("[[feature]]", "[[feature]]\nodd = 2"),
    ("[[feature]]", '[[feature]]\nmissing = "free"'),
    ("[[feature]]", '[[feature]]\nname = "x"\n\n[[feature]]'),
    ('name = "', 'name = "a'),
    ("labels = [", 'labels = ["more", '),
    ('kind = "real"', 'kind = "integer"'),
    ('"0.25"', '"0.5"'),
    ('"0.25"', '"1e-1"'),
    ('"0.25"', "true"),
    ('"0.25"', '{float = "1/4"}'),
    ("lower = 0", 'lower = {float = "0"}'),
]


@there
def test_the_space_is_that_of_the_features(tmp_path: Path) -> None:
    """What the text says of features is what "features" say; spellings do not matter."""
    given = answered("forest").certificate.to_dict()
    same = [("[[feature]]", " [[feature]] # x"), ("name = \"k", "name  =\t\"\\u006b"),
            ("labels = [", "labels = [ # x\n"), ("\"0.25\"", "25e-02"), ("= -1\n", "= \"-3/3\"\n"),
            ("\n\n", "\r\n\r\n"), ("upper = 1\n", "upper = 1.0\n")]  # fmt: skip
    texts = [given["space"].replace(old, new, 1) for old, new in OTHER_SPACES + same]
    made = [rehashed({**given, "space": text}) for text in texts if text != given["space"]]
    assert len(made) == len(texts)
    wanted = ["rejected"] * len(OTHER_SPACES) + ["accepted"] * len(same)
    assert list(map(expected, made)) == wanted
    assert verdicts(bodies(made), tmp_path) == wanted
    more = ("1e390", "0.25000000000000000000000001")
    odd = [('"free"', "'free'"), *(('"0.25"', number) for number in more)]
    odd += [("version = 1", f"version = {version}") for version in ("true", "9" * 5000)]
    many = ", ".join(f"k{i} = 1" for i in range(41))
    odd.append(("version = 1", f"version = 1\ntables = {{{many}}}"))
    beyond = [rehashed({**given, "space": given["space"].replace(old, new, 1)}) for old, new in odd]
    assert verdicts(bodies(beyond), tmp_path) == ["not covered"] * len(odd)


@there
def test_weights_are_the_decimals_that_python_prints(tmp_path: Path) -> None:
    """Of a double several are nearest to it; one that Python does not print is another weight."""
    doubles = [2.0**k for k in range(-60, 91)] + [
        0.1,
        2 / 3,
        5e-324,
        2.0**-1070,
        1e22,
        3 * 2.0**-24,
    ]
    made = []
    for x in doubles:
        for text in {f"{x:.{digits}g}" for digits in (15, 16, 17)} | {repr(x)}:
            if "." not in text and "e" not in text:
                continue  # an integer
            feature, own = number("n", 0, 0, 10, weight=str(Fraction(text)))
            asked = question([(feature, own)], [[[["x", 0], "1"], [["one", 0], "-3"]]])
            content = certificate(asked, NOWHERE | {"radius": "0"}, "feasible", distance="4/5",
                                  witness=["8"])  # fmt: skip
            weight = f'"{Fraction(text)}"'
            space = content["space"].replace(f"weight = {weight}", f"weight = {text}")
            assert space != content["space"]
            made.append(rehashed({**content, "space": space}))
    found = Counter(zip(map(expected, made), verdicts(bodies(made), tmp_path), strict=True))
    assert found.keys() == {
        ("accepted", "accepted"), ("accepted", "not covered"), ("rejected", "not covered"),
    }  # fmt: skip
    assert found["accepted", "accepted"] > found["accepted", "not covered"]


def fake(folder: Path, code: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name, which says this."""
    tool = folder / "cfxc-verified"
    tool.write_text(f'#!/bin/sh\necho "$1: {said}"\nexit {code}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.mark.parametrize(
    ("code", "said", "exit_code"),
    [(0, "accepted: optimal", 0), (1, "rejected: proof", 5), (2, "not covered: rounding", 4)],
)
def test_check_asks_it_too(
    code: int, said: str, exit_code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path, code, said, monkeypatch)
    path = tmp_path / "c.json"
    path.write_text(json.dumps(signed(NEAREST)))
    found = CliRunner().invoke(app, ["check", str(path), "--verified"])
    assert found.exit_code == exit_code, found.output
    assert f"cfxc-verified: {said}" in found.output


def test_one_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(cfxc.InvalidInputError, match="make verified"):
        cfxc.check(signed(NEAREST), verified=True)


def test_one_that_takes_too_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake(tmp_path, 0, "accepted", monkeypatch)
    (tmp_path / "cfxc-verified").write_text("#!/bin/sh\nexec sleep 20\n")
    found = cfxc.check(signed(NEAREST), verified=True, seconds=0.5)
    assert not found.ok
    assert found.undecided
    assert "more than 0.5 seconds" in found.reason

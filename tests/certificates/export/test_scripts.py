"""Certificates as SMT-LIB and as proofs of cvc5: what solvers and ethos say of them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from fractions import Fraction as Q
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

import cfxc
from cfxc.certificates import checker as check
from cfxc.certificates.export.cpc import cpc, plain, proof_of
from cfxc.certificates.export.screening import parted
from cfxc.certificates.export.smtlib import grid_slack, lower, upper
from cfxc.cli import main
from cfxc.errors import InvalidInputError, SolverError, UnsupportedError, VerificationError
from cfxc.solvers.certification import Certificate
from tests.certificates.samples import SAMPLES, answered
from tests.certificates.test_certificates import KINDS, NO_CERTIFICATE, explained
from tests.solvers import test_brute_force_ensembles as ensembles

smtlib_module = sys.modules["cfxc.certificates.export.smtlib"]  # the package has the same name
ETHOS = shutil.which("ethos")
SIGNATURE = Path(ETHOS or "nowhere/ethos").parent / "cpc" / "Cpc.eo"
BODY = {"define", "assume", "assume-push", "step", "step-pop"}


def content(name: str) -> dict[str, Any]:
    return dict(answered(name).certificate.to_dict())


def answer(script: str) -> str:
    solver = z3.Solver()
    solver.set("timeout", 30_000)
    solver.from_string(script)
    return str(solver.check())


def smtlib(certificate: dict[str, Any]) -> dict[str, str]:
    scripts = {"lower": lower(certificate)[0]}
    return scripts if certificate["witness"] is None else {**scripts, "upper": upper(certificate)}


def raised(certificate: dict[str, Any]) -> dict[str, Any]:
    """The same with a bound just above the witness, which is not true."""
    claim = certificate["claim"]
    above = check.number(claim["distance"]) + Q(1, 10**6)
    return {**certificate, "claim": {**claim, "lower_bound": str(above)}}


@pytest.mark.parametrize("name", SAMPLES)
def test_both_bounds(name: str) -> None:
    scripts = smtlib(content(name))
    assert answer(scripts["lower"]) == "unsat"
    if name == "infeasible":
        assert set(scripts) == {"lower"}
        return
    assert answer(scripts["upper"]) == "sat"
    assert answer(smtlib(raised(content(name)))["lower"]) == "sat"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("distance", ["l0", "l1", "linf"])
@pytest.mark.filterwarnings("ignore:categorical_feature keyword")
@pytest.mark.parametrize(("source", "kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_every_kind(source: Any, kind: str, distance: str) -> None:
    certificate = explained(source, kind, distance, 3).certificate.to_dict()
    scripts = smtlib(certificate)
    assert answer(scripts["lower"]) == "unsat"
    assert answer(scripts["upper"]) == "sat"
    assert answer(smtlib(raised(certificate))["lower"]) == "sat"


@given(
    st.integers(1, 40), st.integers(1, 2000), st.integers(-500, 500), st.sampled_from([4, 8]),
)  # fmt: skip
def test_cells_lie_within_the_slack(top: int, bottom: int, k: int, width: int) -> None:
    step = Q(top, bottom)
    given_ = {
        "name": "x", "kind": "real", "labels": [], "lower": "-30000", "upper": "30000",
        "step": str(step), "float": width, "weight": "1", "action": "free",
    }  # fmt: skip
    feature = check.Feature(given_, "0", "x")
    kind = np.float32 if width == 4 else np.float64
    cell = Q(float(kind(float(k * step))))
    assert abs(cell - k * step) <= grid_slack(feature, abs(cell))


@pytest.mark.parametrize("name", SAMPLES)
def test_proofs_of_cvc5_are_whole(name: str) -> None:
    """No step is trusted, and nothing but steps is in them: they bring no rules of their own."""
    files, shown = cpc(content(name), "out")
    about, proof = parted(files["cpc"])
    assert "trust" not in proof
    assert set(re.findall(r"^\(([a-z-]+)", proof, re.MULTILINE)) <= BODY
    assert about == "out.lower.smt2"
    assert files["lower.smt2"] == smtlib(content(name))["lower"]
    claimed = content(name)["claim"]
    infeasible = claimed["status"] == "infeasible"
    assert shown == (None if infeasible else check.number(claimed["lower_bound"]))


@pytest.mark.skipif(not SIGNATURE.exists(), reason="ethos with cpc/Cpc.eo beside it: not on PATH")
@pytest.mark.parametrize("name", SAMPLES)
def test_ethos_says_correct(name: str, tmp_path: Path) -> None:
    cfxc.export(answered(name).certificate, "cpc", tmp_path / "out")
    assert ethos(tmp_path) == "correct"


def ethos(folder: Path) -> str:
    """What it says of a proof; both its exit code and its words count."""
    command = [str(ETHOS), f"--include={SIGNATURE}", "--require-proof-of-false", "out.cpc"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_script_that_is_no_refutation() -> None:
    with pytest.raises(SolverError, match="a point that the certificate rules out"):
        proof_of("(set-logic QF_LRA)(declare-const x Real)(assert (> x 0.0))(check-sat)", 10.0)
    with pytest.raises(UnsupportedError, match="proof of the lower bound within 1e-05 s") as late:
        proof_of(smtlib(content("network"))["lower"], 1e-5)
    assert late.value.exit_code == 4  # a limit, and no wrong input
    with pytest.raises(SolverError, match="did not take the script"):
        proof_of("(set-logic QF_LRA)(assert (= x 1.0))", 1.0)
    assert plain("(\n(define @t1 () x)\n(step @p1)\n)\n") == "(define @t1 () x)\n(step @p1)\n"
    assert plain("(step @p1)") == "(step @p1)\n"


# -- cfxc.export -----------------------------------------------------------------------------------


def test_files(tmp_path: Path) -> None:
    certificate, out = answered("network").certificate, tmp_path / "net"
    written = [
        path.name
        for format_ in ("smt2", "cpc", "vipr")
        for path in cfxc.export(certificate, format_, out)
    ]
    assert written == [
        "net.lower.smt2", "net.upper.smt2", "net.smt2.manifest.json",
        "net.lower.smt2", "net.cpc", "net.cpc.manifest.json",
        "net.vipr", "net.vipr.manifest.json",
    ]  # fmt: skip
    hashed = certificate.to_dict()["hash"]
    for name, start in (
        ("net.cpc", f'; cfxc certificate {hashed}\n(reference "net.lower.smt2")\n(define'),
        ("net.vipr", f"% cfxc certificate {hashed}\nVER 1.0"),
        ("net.lower.smt2", f"; cfxc certificate {hashed}\n"),
    ):
        assert (tmp_path / name).read_text().startswith(start)
    for format_ in ("smt2", "cpc", "vipr"):
        manifest = json.loads((tmp_path / f"net.{format_}.manifest.json").read_text())
        assert manifest["certificate"] == hashed
        assert len(manifest["files"]) in (1, 2)
        for name, sha in manifest["files"].items():
            assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == sha


@pytest.mark.parametrize("kind", sorted(NO_CERTIFICATE))
def test_answers_without_a_certificate(kind: str, tmp_path: Path) -> None:
    """Of votes and their likes the formula is written, and cvc5's proof where it has all rules."""
    result = explained(ensembles, kind, "l1", 3)
    result.export("smt2", tmp_path / "out")
    script = (tmp_path / "out.lower.smt2").read_text()
    assert answer(script) == "unsat"
    assert "define-fun" not in script
    with pytest.raises(UnsupportedError, match="has no certificate"):
        result.export("vipr", tmp_path / "out")
    if kind == "median":
        with pytest.raises(UnsupportedError, match="steps without a rule"):
            result.export("cpc", tmp_path / "out")
        return
    result.export("cpc", tmp_path / "out")
    if ETHOS is not None and SIGNATURE.exists():
        assert ethos(tmp_path) == "correct"


def test_answers_with_one_write_that(tmp_path: Path) -> None:
    assert len(answered("forest").export("smt2", tmp_path / "out")) == 3
    named = answered("forest").export("smt2", tmp_path / "other.smt2")
    assert "other.lower.smt2" in [path.name for path in named]


def test_refusals(tmp_path: Path) -> None:
    certificate = content("network")
    with pytest.raises(InvalidInputError, match="unknown format 'lfsc': smt2, cpc, vipr"):
        cfxc.export(certificate, "lfsc", tmp_path / "net")
    with pytest.raises(InvalidInputError, match="cannot write"):
        cfxc.export(certificate, "smt2", tmp_path / "nowhere" / "net")
    false = Certificate({k: v for k, v in raised(certificate).items() if k != "hash"})
    with pytest.raises(VerificationError, match="the certificate does not hold"):
        cfxc.export(false, "smt2", tmp_path / "net")
    with pytest.raises(UnsupportedError, match="l2"):
        cfxc.export(answered("boosting l2").certificate, "vipr", tmp_path / "net")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = answered("forest").certificate.save(tmp_path / "c.json.gz")
    out = str(tmp_path / "c")
    assert main(["export", str(path), "--format", "smt2", "-o", out]) == 0
    assert "wrote" in capsys.readouterr().out
    assert main(["export", str(path), "--format", "x", "-o", out]) == 2
    false = Certificate({k: v for k, v in raised(content("forest")).items() if k != "hash"})
    wrong = false.save(tmp_path / "false.json")
    assert main(["export", str(wrong), "--format", "smt2", "-o", out]) == 5
    assert "rejected: the certificate does not hold" in capsys.readouterr().out


def test_cvc5_ends_with_its_time() -> None:
    """Also while it reads: a script of a million assertions, and a moment."""
    script = "(set-logic QF_LRA)(declare-const x Real)" + "(assert (> x 0.0))" * 10**6
    started = time.monotonic()
    with pytest.raises(UnsupportedError, match=r"no proof of the lower bound within 0.5 s"):
        proof_of(script, 0.5)
    assert time.monotonic() - started < 5


def test_the_command_says_what_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = answered("forest").certificate.save(tmp_path / "c.json")
    command = ["export", str(path), "--format", "smt2", "-o", str(tmp_path / "c")]
    assert main(command) == 0
    assert "claimed and shown: nothing nearer than 0.37" in capsys.readouterr().out
    monkeypatch.setattr(smtlib_module.Script, "blur", lambda script: Q(1, 8))
    assert main(command) == 4
    said = capsys.readouterr().out
    assert "claimed: nothing nearer than 0.37" in said
    assert "shown: nothing nearer than 0.25 (less by 0.12)" in said
    assert "cells and single floats round" in said
    assert (tmp_path / "c.lower.smt2").exists()
    manifest = json.loads((tmp_path / "c.smt2.manifest.json").read_text())
    assert not manifest["reaches_claim"]


def test_scripts_hold_the_whole_question() -> None:
    """All values of features, and all nodes of trees that admissible values reach."""
    whole, _ = lower(content("range"))
    cut, _ = lower(content("range"), cut=True)
    assert len(cut) < len(whole)
    assert answer(cut) == "unsat"
    features = content("range")["features"]
    for j, feature in enumerate(features):
        for i in range(len(feature["labels"])):
            named = f"(declare-const is.{j}.{i} Bool)" in whole
            assert named or feature["action"] != "free"

"""Certificates of every kind of model and distance hold, alone and without cfxc."""

from __future__ import annotations

import gzip
import inspect
import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import jsonschema
import numpy as np
import pytest
from sklearn.base import clone

import cfxc
from cfxc.certificates import checker as check
from cfxc.certificates import write_checker
from cfxc.certificates.auditing.__main__ import main
from cfxc.certificates.auditing.report import CLAIMS, UNKNOWN
from cfxc.certificates.auditing.sampling import Differs, compare
from cfxc.errors import InvalidInputError, UnsupportedError, VerificationError
from cfxc.solvers.certification import Certificate, require_program_of
from tests.certificates.mutants import rehashed
from tests.certificates.oracle import is_true
from tests.certificates.samples import SAMPLES, SPACE, answered, fitted, grid
from tests.solvers import kinds
from tests.solvers import test_brute_force_ensembles as ensembles
from tests.solvers.grids import NORMS
from tests.solvers.kinds import task

CHECKER = Path(check.__file__).parent
# Of its folder; 10 for ranges that are kept, 179 for smooth functions, 167 for trust regions, 91
# for products.
LINES = 1731
SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "certificate.schema.json"
NO_CERTIFICATE = {"bagging of votes", "votes", "weighted votes", "median", "svc of 3"}
KINDS = [
    (source, kind)
    for source in (kinds, ensembles)
    for kind in [*source.KINDS, *getattr(source, "BOOSTERS", ())]
    if (source, kind) != (ensembles, "svc of 3") and kind not in NO_CERTIFICATE - {"svc of 3"}
]


def explained(source: Any, kind: str, distance: Any, seed: int, **more: Any) -> cfxc.Result:
    model, space, compiled = source.trained(kind)
    boosters = getattr(source, "BOOSTERS", {})
    outcome = boosters[kind][2] if kind in boosters else source.KINDS[kind][1]
    asked = task(model, space, outcome, seed)
    options = {"epsilon": 1e-6, **more}
    result: cfxc.Result = compiled.explain(
        asked.row, target=asked.target, distance=distance, **options
    )
    return result


def held(result: cfxc.Result) -> cfxc.Report:
    """What the checker says of an answer's certificate, which claims what was shown."""
    found = cfxc.check(json.loads(result.certificate.to_json()))
    assert found.ok, found.reason
    assert found.shown is not None
    jsonschema.validate(found.content, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert found.shown.status == found.facts["status"] == claimed(result, found.shown)
    assert found.facts["lower bound"] <= result.lower_bound + 1e-12
    assert (found.facts["distance"] or 0) == pytest.approx(result.distance or 0, abs=1e-12)
    return found


def claimed(result: cfxc.Result, shown: check.Shown) -> str:
    """The status that a bound shows: an optimal answer's may be farther off than epsilon."""
    if result.status != "optimal" or shown.distance is None:
        return result.status
    power = 2 if shown.question.squared else 1
    goal = shown.distance * (1 - Fraction(result.epsilon)) ** power
    return "optimal" if shown.bound >= goal else "feasible"


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore:categorical_feature keyword")
@pytest.mark.parametrize("distance", [*NORMS, "mix"])
@pytest.mark.parametrize(("source", "kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_every_kind(source: Any, kind: str, distance: str) -> None:
    spec = {"l0": 0.25, "l1": 0.5, "linf": 0.25} if distance == "mix" else distance
    result = explained(source, kind, spec, 3)
    found = held(result)
    assert result.status == "optimal"
    assert found.facts["lower bound"] >= result.distance - 1e-6 - 1e-9


@pytest.mark.parametrize("name", SAMPLES)
def test_claims_are_true(name: str) -> None:
    content = answered(name).certificate.to_dict()
    held(answered(name))
    assert is_true(content)


@pytest.mark.parametrize("kind", ["forest", "relu", "boosting of 3"])
def test_answers_of_smt_are_certified_by_other_engines(kind: str) -> None:
    source = kinds if kind in kinds.KINDS else ensembles
    result = explained(source, kind, "l1", 3, method="smt")
    assert result.lower_bound_proof == "solver"
    assert held(result).facts["lower bound"] >= result.distance - 1e-6 - 1e-9
    assert result.lower_bound_proof == "certificate"


def test_further_answers_differ_from_those_before() -> None:
    results = explained(kinds, "forest", "l1", 5, count=3).all()
    for place, result in enumerate(results):
        content = result.certificate.to_dict()
        assert cfxc.check(content).ok
        assert len(content["question"]["constraints"]) == place


@pytest.mark.parametrize("kind", ["votes", "median"])
def test_what_has_no_certificate(kind: str) -> None:
    with pytest.raises(UnsupportedError, match="certificate"):
        _ = explained(ensembles, kind, "l1", 3).certificate


def test_nothing_found_is_nothing_to_certify() -> None:
    result = explained(ensembles, "votes", "l1", 3, time_limit=1e-6)
    if result.status == "unknown":
        with pytest.raises(UnsupportedError, match="nothing to certify"):
            _ = result.certificate


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without any package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


@pytest.mark.parametrize("name", SAMPLES)
def test_the_file_alone_in_an_empty_environment(name: str, bare: Path, tmp_path: Path) -> None:
    checker = write_checker(tmp_path / "cfxc-check.pyz")
    for suffix in (".json", ".json.gz"):
        path = answered(name).certificate.save(tmp_path / f"c{suffix}")
        command = [str(bare), "-I", str(checker), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout == cfxc.check(path).summary() + "\n"
        assert done.stdout.startswith(f"{UNKNOWN}\n")
        assert "Not shown" in done.stdout


def test_the_file_alone_is_the_same_each_time(tmp_path: Path) -> None:
    one, two = (write_checker(tmp_path / name) for name in ("a.pyz", "b.pyz"))
    assert one.read_bytes() == two.read_bytes()
    with pytest.raises(InvalidInputError, match="cannot write"):
        write_checker(tmp_path / "nowhere" / "c.pyz")


def test_it_imports_the_standard_library_alone() -> None:
    """And itself; what runs models stands apart."""
    lines = [line for file in CHECKER.glob("*.py") for line in file.read_text("utf-8").splitlines()]
    assert len(lines) <= LINES
    words = {line.split()[1] for line in lines if line.strip().startswith(("import ", "from "))}
    own = {f".{file.stem}" for file in CHECKER.glob("*.py")} | {"."}
    assert {word for word in words if word.startswith(".")} <= own
    found = {word.split(".")[0] for word in words if not word.startswith(".")}
    assert found <= sys.stdlib_module_names


def test_saved_twice_it_is_the_same_file(tmp_path: Path) -> None:
    certificate = answered("forest").certificate
    one, two = (certificate.save(tmp_path / name).read_bytes() for name in ("a.gz", "b.gz"))
    assert one == two
    assert gzip.decompress(one).decode() == certificate.to_json()


def test_the_model_that_it_was_made_for(tmp_path: Path) -> None:
    """Another file is refused by its hash; another program by compiling the file anew."""
    paths = []
    for seed in (0, 1):
        model = fitted(clone(SAMPLES["forest"][0]).set_params(random_state=seed))
        paths.append(tmp_path / f"{seed}.joblib")
        joblib.dump(model, paths[-1])
    compiled = cfxc.compile(paths[0], SPACE, trust_pickle=True)
    table = grid()
    row = table[np.asarray(compiled.predict(table)) == 0].iloc[[0]]
    content = compiled.explain(row, target=1).certificate.to_dict()
    require_program_of(content, paths[0], trust_pickle=True)
    with pytest.raises(VerificationError, match="another model file"):
        require_program_of(content, paths[1], trust_pickle=True)
    unnamed = rehashed({**content, "model": None})
    require_program_of(unnamed, paths[0], trust_pickle=True)
    with pytest.raises(VerificationError, match="is not what"):
        require_program_of(unnamed, paths[1], trust_pickle=True)
    changed = json.loads(json.dumps(content))
    changed["features"][0]["upper"] = "5"
    with pytest.raises(VerificationError, match="features"):
        require_program_of(changed, paths[0], trust_pickle=True)
    with pytest.raises(VerificationError, match="feature space"):
        require_program_of({**content, "space": "no ["}, paths[0], trust_pickle=True)
    saved = tmp_path / "c.json"
    saved.write_text(json.dumps(content), encoding="utf-8")
    assert main([str(saved), "--model", str(paths[0])]) == 3
    assert main([str(saved), "--model", str(paths[0]), "--trust-pickle"]) == 0
    assert main([str(saved), "--model", str(paths[1])]) == 1
    _from_python(saved, paths, compiled)


def _from_python(saved: Path, paths: Sequence[Path], compiled: cfxc.CompiledModel) -> None:
    """The same by ``cfxc.check``: a file, a fitted model, or a compiled one."""
    assert "not run" in cfxc.check(saved).facts["run"]
    for model in (paths[0], joblib.load(paths[0]), compiled):
        found = cfxc.check(saved, model=model, trust_pickle=True, seed=1)
        assert found.ok, found.reason
        assert "the same program; run beside it" in found.facts["run"]
        assert ("compiled anew" in found.summary()) == (model is not compiled)
    other = joblib.load(paths[1])
    for model, why in (
        (paths[1], "another model file"), (other, "is not what the model"),
        (cfxc.compile(other, SPACE), "is not what the model"),
    ):  # fmt: skip
        found = cfxc.check(saved, model=model, trust_pickle=True)
        assert (found.ok, found.shown) == (False, None)
        assert why in found.reason
    with pytest.raises(cfxc.InvalidInputError, match="rows has no effect without a model"):
        cfxc.check(saved, rows="rows.csv")
    assert "run" not in inspect.signature(cfxc.check).parameters


def test_files_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing, text = tmp_path / "missing.json", tmp_path / "text.json"
    text.write_text("hello", encoding="utf-8")
    damaged = tmp_path / "damaged.json.gz"
    damaged.write_bytes(answered("forest").certificate.save(tmp_path / "c.gz").read_bytes()[:-9])
    plain = tmp_path / "plain.gz"
    plain.write_text("hello", encoding="utf-8")
    for path in (missing, text, damaged, plain):
        assert main([str(path)]) == 2
        why = "this is no cfxc certificate" if path == text else "cannot be read"
        assert why in capsys.readouterr().out
        with pytest.raises(InvalidInputError, match=path.name):
            cfxc.check(path)
    other = tmp_path / "other.json"
    other.write_text('{"a": 1}', encoding="utf-8")
    assert main([str(other)]) == 2
    with pytest.raises(InvalidInputError, match=r"other.json: this is no cfxc certificate"):
        cfxc.check(other)


def test_the_page_says_what_was_asked_and_shown() -> None:
    for name in SAMPLES:
        report = cfxc.check(answered(name).certificate)
        page = report.to_markdown()
        assert page == report._repr_markdown_()
        assert page.startswith("# Certificate of a counterfactual\n")
        assert CLAIMS[report.facts["status"]] in page
        assert report.content["hash"] in page
        assert len(report.facts["constraints"]) == len(report.content["question"]["constraints"])
        for rule in report.facts["constraints"]:
            assert rule in page
    rejected = cfxc.check({**report.content, "hash": "0"})
    assert rejected.shown is None
    assert rejected.summary() == "REJECTED: hash: it is not that of the rest"
    assert rejected.to_markdown().startswith("# Rejected\n")


def test_lower_bounds_are_those_of_the_answer() -> None:
    result = answered("forest")
    claim = result.certificate.to_dict()["claim"]
    assert check.number(claim["lower_bound"]) <= result.exact_lower_bound
    assert check.number(claim["distance"]) == result.exact_distance
    assert Fraction(result.epsilon) == check.number(claim["epsilon"])


def test_the_model_is_run_beside_the_program() -> None:
    """Outcomes that differ by more than rounding are refused, of labels and of numbers."""
    for name in ("forest", "range"):
        content = answered(name).certificate.to_dict()
        shown = check.check(content)
        values = not hasattr(SAMPLES[name][0], "predict_proba")
        model = fitted(SAMPLES[name][0], values=values)
        sampled = compare(shown, content["space"], model.predict)
        assert sampled.text.startswith("402 rows drawn with seed 0; ")
        with pytest.raises(Differs, match="of the factual the model says"):
            compare(shown, content["space"], lambda rows, model=model: 1 - model.predict(rows))


def test_slack_for_steps_of_what_is_exact() -> None:
    content = explained(kinds, "svc of 3", "l1", 3, semantics="float").certificate.to_dict()
    assert cfxc.check(content).ok
    steps = [k for k, (kind, _) in enumerate(content["program"]["made"]) if kind == "step"]
    assert steps
    content["program"]["made"][steps[0]][1][-1][1] = "3/2"
    body = {name: value for name, value in content.items() if name != "hash"}
    reason = cfxc.check(Certificate(body)).reason
    assert reason == f"program.made[{steps[0]}]: slack: a step of what is rounded"


def test_slack_for_units() -> None:
    certificate = explained(kinds, "relu", "l1", 3, semantics="float").certificate
    assert cfxc.check(certificate).ok
    content = certificate.to_dict()
    content["question"]["slack"] = str(check.number(content["question"]["slack"]) / 10**12)
    body = {name: value for name, value in content.items() if name != "hash"}
    assert cfxc.check(Certificate(body)).reason.startswith("question.slack: rounding may do ")


def test_networks_under_l0_whose_bound_is_the_distance() -> None:
    """Points at the bound itself are not nearer, which linear programs alone cannot tell."""
    for seed in range(6):
        result = explained(kinds, "relu", "l0", seed)
        assert held(result).facts["lower bound"] >= result.distance - 1e-6 - 1e-9

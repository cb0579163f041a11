"""The checker that is proved beside the one in Python: verdicts on certificates, and their seconds.

    PATH=verified:$PATH python benchmarks/verified.py [--part honest|mutants|speed] …

``honest``: random models and questions (``honest.py``), and small programs with a proof by
splitting (the tests'); how many of each kind both accept.  ``mutants``: these changed in one place,
at random; the line of each verdict has to be the same, byte for byte, unless the Python checker has
a limit there.  Where features were changed, every second time the space says the same as they do.
``speed``: Adult, processor seconds of both on the same files.
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
import warnings
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from honest import answered
from support.report import Table, circumstances, write_section
from support.tasks import adult, fit, forest, network

from cfxc.certificates import checker
from cfxc.certificates.auditing.policy import require_same
from cfxc.errors import CfxcError
from tests.certificates.false_certificates import draw_honest
from tests.certificates.mutants import at, paths, rehashed, variants, with_value
from tests.certificates.written import space_of

TOOL = shutil.which("cfxc-verified") or "verified/cfxc-verified"
AT_ONCE = 250  # files for one call
STILL = ("made", "space", "model")  # nothing follows from it
LIMITS = "limits"
SMOOTH = ("exp", "sigmoid", "softplus", "normal")


def line_of(body: bytes) -> str:
    """The verdict of the Python checker, as a line of the other; "limits" of its own."""
    try:
        shown = checker.check(checker.parse(body), checker.Clock(30.0))
        require_same(shown.space, shown.question.features)
    except checker.Rejected as error:
        return LIMITS if str(error).startswith("limits: ") else "rejected"
    floats = {"real": "", "float": "in doubles, ", "float32": "in single floats, "}
    started = f"accepted: {floats[shown.semantics]}{shown.status}: "
    if shown.status == "infeasible":
        return f"{started}there is no counterfactual"
    told = f"{started}distance {shown.distance}, lower bound {shown.bound}"
    return f"{told}, epsilon {shown.epsilon}" if shown.status == "optimal" else told


def lines_of(contents: list[Any], folder: Path) -> list[str]:
    """The lines of the other."""
    files = [folder / f"{i}.json" for i in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_text(json.dumps(content))
    order = [TOOL, "--seconds", "10", *map(str, files)]
    done = subprocess.run(order, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    return [line.removeprefix(f"{file}: ") for file, line in zip(files, lines, strict=True)]


def kind_of(content: Any) -> str:
    """What stands in the table: the sources of the program or a trust region, and semantics."""
    program = content["program"]
    made = {entry[0] for entry in program["made"]}
    found = [name for name in SMOOTH if name in made] or [
        "products" if "product" in made else "networks" if "unit" in made else
        "trees" if program["trees"] else "linear"
    ]  # fmt: skip
    if content["question"].get("region") is not None:
        found = ["trust regions"]
    return f"{found[0]}, {content['semantics']}"


def models(count: int, seed: int) -> Iterator[Any]:
    """Certificates of random models and questions."""
    for i in range(seed, seed + count):
        try:
            _, result, _ = answered(i)
            if result is not None and result.status != "unknown":
                yield result.certificate.to_dict()
        except CfxcError:
            continue


def written(count: int, seed: int) -> Iterator[Any]:
    """Certificates of small programs of every kind."""
    rng = Random(seed)
    for _ in range(count):
        yield json.loads(json.dumps(draw_honest(rng).certificate()))


def compared(contents: Iterator[Any], count: Counter[tuple[str, str, str]]) -> list[str]:
    """How often both said what, for each kind; and where the lines differ."""
    differ, kept = list[str](), list[Any]()

    def compare() -> None:
        with TemporaryDirectory() as folder:
            theirs = lines_of(kept, Path(folder))
        for content, its in zip(kept, theirs, strict=True):
            mine = line_of(json.dumps(content).encode())
            kind = kind_of(content) if "accepted" in mine else "not accepted"
            count[kind, mine.partition(":")[0], its.partition(":")[0]] += 1
            if mine != its and mine != LIMITS:
                differ.append(f"{mine} | {its} | {json.dumps(content)}")
        kept.clear()

    for content in contents:
        kept.append(content)
        if len(kept) == AT_ONCE:
            compare()
    compare()
    return differ


def changed(honest: list[Any], count: int, rng: Random) -> Iterator[Any]:
    """Mutants of certificates, each at a random place."""
    where = [
        [path for path in paths(one) if path[:1] not in {(x,) for x in STILL}] for one in honest
    ]
    made = 0
    while made < count:
        i = rng.randrange(len(honest))
        path = rng.choice(where[i])
        options = list(variants(at(honest[i], path)))
        if options:
            made += 1
            mutant = with_value(honest[i], path, rng.choice(options))
            if path[:1] == ("features",) and rng.random() < 0.5:
                mutant = _of_one_mind(mutant)
            yield rehashed(mutant)


def _of_one_mind(content: Any) -> Any:
    """The same with a space that says of features what they do, if one can be written."""
    try:
        return {**content, "space": space_of(content["features"])}
    except (*checker.ODD, checker.Rejected):
        return content


def verdicts(options: Namespace) -> list[Table]:
    """The tables of ``honest`` and ``mutants``."""
    honest = [*models(options.models, options.seed), *written(options.written, options.seed)]
    contents: Iterator[Any] = iter(honest)
    if options.part == "mutants":
        contents = changed(honest, options.count, Random(options.seed))
    count = Counter[tuple[str, str, str]]()
    differ = compared(contents, count)
    made = Table("What both say", ("kind", "Python", "proved in Coq", "files"))
    made.rows = [(*key, f"{n:,}") for key, n in sorted(count.items())]
    limits = sum(n for (_, mine, _), n in count.items() if mine == LIMITS)
    same = sum(count.values()) - len(differ) - limits
    made.rows.append(("all", "", "the same line", f"{same:,}"))
    made.rows.append(("all", "no limit", "another", f"{len(differ):,}"))
    if options.differ is not None:
        options.differ.write_text("".join(f"{line}\n" for line in differ))
    return [made]


def speed(options: Namespace) -> list[Table]:
    """Processor seconds: of Python reading nothing, of the other with start and reading."""
    made = Table("Seconds", ("model", "kB", "status", "Python", "proved in Coq", "ratio"))
    data = adult()
    cases = {
        "forest 100 x 8": (forest(100, 8), False), "forest 200 x 12": (forest(200, 12), False),
        "ReLU 50, 50": (network(50, 50), True),
        "tanh 20": (network(20, activation="tanh"), True),
    }  # fmt: skip
    for name, (make, scaled) in cases.items():
        task = fit(data, name, make, scaled=scaled)
        for i in range(options.people):
            row = task.people.iloc[[i]]
            result = task.compiled.explain(row, distance="l1", time_limit=60, epsilon=0.01)
            content = result.certificate.to_dict()
            with TemporaryDirectory() as folder:
                file = Path(folder) / "c.json"
                file.write_text(json.dumps(content))
                mine = [_python(content) for _ in range(3)]
                its = [_other(file) for _ in range(3)]
                size = file.stat().st_size // 1000
            seconds = statistics.median(mine), statistics.median(its)
            shown = [f"{one:.2f}" for one in (*seconds, seconds[1] / seconds[0])]
            made.rows.append((name, str(size), result.status, *shown))
            print(" | ".join(made.rows[-1]), file=sys.stderr, flush=True)
    return [made]


def _python(content: Any) -> float:
    checker.number.cache_clear()
    started = time.process_time()
    checker.check(content, checker.Clock(1e9))
    return time.process_time() - started


def _other(file: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([TOOL, str(file)], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the tables; the exit code is 1 if a line differs."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="honest", choices=("honest", "mutants", "speed"))
    parser.add_argument("--models", type=int, default=600, help="random models to ask")
    parser.add_argument("--written", type=int, default=900, help="small programs")
    parser.add_argument("--count", type=int, default=100_000, help="mutants")
    parser.add_argument("--people", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--differ", type=Path, help="a file for what differs")
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    shown = speed(options) if options.part == "speed" else verdicts(options)
    for each in shown:
        each.show()
    if options.markdown is not None:
        asked = "".join(
            f" --{name} {value}"
            for name in ("models", "written", "count", "people", "seed")
            if (value := getattr(options, name)) != parser.get_default(name)
        )
        command = f"python benchmarks/verified.py --part {options.part}{asked}"
        text = "\n\n".join([circumstances(command), *(each.markdown() for each in shown)])
        write_section(options.markdown, f"verified {options.part}", text)
    differ = any(row[2] == "another" and row[3] != "0" for each in shown for row in each.rows)
    sys.exit(differ)


if __name__ == "__main__":
    main()

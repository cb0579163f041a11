"""The exact engines beside the best exact peers: same models, people and distance, one thread.

cfxc is timed from the call of ``explain`` to its verified answer, at the default ε = 10⁻³ and at
10⁻⁶, since the peers prove the optimum itself; on what peers are given, the last step of the
pipeline and its columns; in one ``explain_batch`` of all people; and once more without what peers
do not do either: reading a row, calling the model for it and for the answer, and writing a row.
treecf and OCEAN run in a Python 3.12 of their own, found through ``CFXC_PEER_PYTHON`` (they are
installed if it lacks them), on the same trees as plain arrays.  Exits with 1 if a peer's answer
refutes a proved bound, or an answer does not flip.

    CFXC_DATA=… CFXC_PEER_PYTHON=… python benchmarks/exact.py --part adult --people 100
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from statistics import median

from support import cold, growth
from support.naive_mip import NaiveProgram, Solved
from support.peers import VARIABLE, Peers, find_peers
from support.race import (
    HEADER,
    Answer,
    Findings,
    Run,
    alone,
    batched,
    compare,
    explain,
    ours,
    own_faults,
    peer_run,
    run_of,
    same_optima,
)
from support.race import times as ratio
from support.report import Table, circumstances, write_section
from support.tasks import Data, Make, Task, adult, boosting, fit, forest, heloc, made, network
from support.tasks import xgboost as boosted

from cfxc.errors import CfxcError

EPSILONS = (("10⁻³", 1e-3), ("10⁻⁶", 1e-6))
PICTURE = Path("benchmarks/results/growth.svg")
FEASIBLE = 1e-6  # by how much HiGHS lets a row of its program be violated
GAP = 1e-4  # HiGHS's relative gap at which it calls a solution optimal
# Seconds that plain HiGHS took per person on the machine the targets were set on.
NETWORKS = {(10, 10): (0.4, "0.4"), (20, 20): (1.4, "1.4"), (50, 50): (10, "10–160"),
            (100,): (1.4, "1.4")}  # fmt: skip
METRICS = """
treecf's distance is ours: numbers over their range, on their grid; a category costs 1; one with an
order costs the steps between its labels. It steps over a threshold by a float32, cfxc by a double.
OCEAN's is not: numbers move to the edge of a cell instead of the next whole value, and any change
of an ordered category costs 1; its optima are not compared."""

Section = tuple[str, list[Table], list[str], Findings]


def main() -> None:
    """Run the parts, print, and exit with 1 if something cannot be true."""
    options = parse()
    peers = find_peers() if {"adult", "continuous"} & set(options.part) else None
    faults: list[str] = []
    for part in options.part:
        name, tables, lines, findings = PARTS[part](options, peers)
        for table in tables:
            table.show()
        print(*lines, sep="\n", end="\n\n")
        text = "\n".join(table.markdown() for table in tables)
        text = "\n\n".join([text, "\n".join(lines), _where(part, options, peers)])
        if options.raw:
            with options.raw.open("a", encoding="utf-8") as stream:
                stream.write(f"{text}\n\n")
        if options.markdown:
            write_section(options.markdown, f"exact {name}", text)
        faults += findings.faults
    print(*faults, sep="\n")
    raise SystemExit(bool(faults))


# -- trees beside peers ---------------------------------------------------------------------------


def run_adult(options: Namespace, peers: Peers | None) -> Section:
    """Adult with a forest and boosted trees of 100."""
    models = {
        "RF 100×8": forest(100, 8),
        "GB 100×6": boosting(100, 6),
        **_xgboost("XGB 100×6", 100, 6),
    }
    people = 100 if options.people is None else options.people
    tables, lines, findings = [], [], Findings()
    header = ("met", "model", "what", "measured", "wanted")
    targets = Table("targets; ratios are of processor seconds", header)
    for model, make in models.items():
        task = fit(adult(), model, make)
        table, runs, found = race(task, people, options, peers, people, options.ocean_people)
        tables.append(table)
        if not model.startswith("GB"):
            targets.rows += _targets(task, runs)
        lines += [_agreement(task, found)]
        findings.add(found)
    return "adult", [*tables, targets], [*lines, METRICS], findings


def run_continuous(options: Namespace, peers: Peers | None) -> Section:
    """20 and 30 continuous features, and HELOC."""
    sets: list[Data] = [made(20), made(30)]
    found_heloc = heloc()
    lines: list[str] = []
    if found_heloc is None:
        lines.append("HELOC skipped: it is not in the directory that CFXC_DATA names.")
    else:
        sets.append(found_heloc)
    models = {
        "RF 100×6": forest(100, 6),
        "GB 100×4": boosting(100, 4),
        **_xgboost("XGB 100×4", 100, 4),
    }
    people = 20 if options.people is None else options.people
    tables, findings = [], Findings()
    for data in sets:
        for model, make in models.items():
            task = fit(data, model, make)
            table, _, found = race(task, people, options, peers, options.peer_people, 0)
            tables.append(table)
            lines.append(_agreement(task, found))
            findings.add(found)
    return "continuous", tables, lines, findings


def race(
    task: Task,
    people: int,
    options: Namespace,
    peers: Peers | None,
    treecf_people: int,
    ocean_people: int,
) -> tuple[Table, dict[str, Run], Findings]:
    """One model: cfxc at both ε, then the peers."""
    findings, runs, answers = Findings(), {}, []
    for text, epsilon in EPSILONS:
        answers = ours(task, people, epsilon, options.seconds)
        runs[f"cfxc {text}"] = run_of(f"cfxc, ε = {text}", answers)
        findings.add(own_faults(task, answers))
        print(task.name, *runs[f"cfxc {text}"].row(None), sep="  ", file=sys.stderr, flush=True)
    alone_task = task.bare()
    bare = ours(alone_task, people, EPSILONS[-1][1], options.seconds)
    findings.add(own_faults(alone_task, bare))
    findings.add(same_optima(task, answers, bare))
    runs["bare"] = run_of(f"cfxc, model alone, ε = {EPSILONS[-1][0]}", bare)
    runs["batch"] = batched(task, people, 1e-3, options.seconds)
    runs["alone"] = alone(task, people, 1e-6, options.seconds)
    yardstick = runs["cfxc 10⁻⁶"]
    if peers is not None:
        replies = peer_run(peers, "treecf", task, treecf_people, options.seconds)
        runs["treecf"] = run_of("treecf", replies)
        findings.add(compare(task, answers, replies))
        if ocean_people and not task.model.startswith("GB"):  # which OCEAN does not take
            replies = peer_run(peers, "ocean", task, ocean_people, options.ocean_seconds)
            runs["ocean"] = run_of(f"OCEAN-CP ({len(replies)} people)", replies)
    title = f"{task.name}: {len(task.people):,} refused, compiled in {task.seconds:.2f} s"
    table = Table(title, HEADER)
    table.rows += [run.row(yardstick) for run in runs.values()]
    return table, runs, findings


def _targets(task: Task, runs: dict[str, Run]) -> list[tuple[str, ...]]:
    """The targets: met, model, what, measured, wanted."""
    found: list[tuple[str, str, str, bool]] = []
    theirs, slow = runs.get("treecf"), runs.get("ocean")
    mine_by_name = {f"ε = {text}": runs[f"cfxc {text}"] for text, _ in EPSILONS}
    others = {
        "model alone": runs["bare"], "explain_batch": runs["batch"],
        "search alone": runs["alone"],
    }  # fmt: skip
    for text, mine in {**mine_by_name, **others}.items():
        middle, proved = median(mine.seconds), sum(mine.proved)
        found.append((f"median, {text}", f"{middle:.3f} s", "<= 0.05 s", middle <= 0.05))
        everyone = len(mine.proved)
        found.append((f"proved, {text}", f"{proved}", f"{everyone}", proved == everyone))
        for peer, name, wanted in ((theirs, "treecf", (2, 3)), (slow, "OCEAN-CP", (500, None))):
            for at, what in enumerate(("median", "95 %")):
                least = wanted[at]
                if peer is None or not peer.cpu or least is None:
                    continue
                times = peer.ratios(mine)[at]
                label = f"{name}'s {what} over cfxc's, {text}"
                found.append((label, ratio(times), f">= {least}", times >= least))
    return [("yes" if met else "NO", task.name, *cells) for *cells, met in found]


def _agreement(task: Task, found: Findings) -> str:
    """How far optima lie apart, what could not be compared, what is wrong."""
    text = (
        f"{task.name}: {found.compared} optima compared with treecf's, largest difference "
        f"{found.largest:.2g}; {len(found.faults)} answers refuted."
    )
    return "\n".join(f"- {line}" for line in (text, *found.notes, *found.faults))


def _xgboost(name: str, trees: int, depth: int) -> dict[str, Make]:
    try:
        return {name: boosted(trees, depth)}
    except ImportError:
        print("XGBoost skipped: it is not installed", file=sys.stderr)
        return {}


# -- growth, networks, cold start -----------------------------------------------------------------


def run_growth(options: Namespace, peers: Peers | None) -> Section:
    """Number of trees, depth, features."""
    people = 10 if options.people is None else options.people
    points = growth.measure(people, options.growth_seconds)
    drawn = growth.draw(points, PICTURE)
    line = (
        f"![Seconds per person against trees, depth and features]({PICTURE.name})"
        if drawn
        else "No picture: matplotlib is not installed."
    )
    return "growth", [growth.table(points, options.growth_seconds)], [line], Findings()


def run_networks(options: Namespace, peers: Peers | None) -> Section:
    """Networks on Adult, ``method="mio"`` beside one plain program for HiGHS."""
    header = (
        "× CPU", "× stated", "model", "ε", "proved", "median, s", "max, s", "CPU median",
        "HiGHS proved", "median, s", "max, s", "stated, s", "third", "same optimum",
    )  # fmt: skip
    table, findings = Table("Adult: networks, l1, beside HiGHS", header), Findings()
    people = 5 if options.people is None else options.people
    data = adult()
    for layers in NETWORKS:
        task = fit(data, f"MLP {layers}", network(*layers), scaled=True)
        try:
            explain(task, task.people.iloc[[0]], 1e-3, 5.0, method="mio")
        except CfxcError as error:
            line = f"Networks skipped: {str(error).splitlines()[0]}"
            return "networks", [], [line], findings
        table.rows += _network_rows(task, layers, people, options, findings)
    return "networks", [table], [f"{len(findings.faults)} answers refuted."], findings


def _network_rows(
    task: Task, layers: tuple[int, ...], people: int, options: Namespace, findings: Findings
) -> list[tuple[str, ...]]:
    """cfxc at both ε, and HiGHS with its own gap, on the same people."""
    limit, (least, stated) = options.network_seconds, NETWORKS[layers]
    plain = [NaiveProgram(task, number).solve(limit) for number in range(1, 1 + people)]
    cpu, wall = median(p.cpu for p in plain), [p.seconds for p in plain]
    proved = sum(p.proved for p in plain)
    rows = []
    for text, epsilon in EPSILONS:
        answers = ours(task, people, epsilon, limit, method="mio")
        findings.add(own_faults(task, answers))
        run = run_of("cfxc", answers)
        same = _same(task, answers, plain, findings)
        more = "> " * (2 * proved < len(plain))
        faster = cpu / median(run.cpu), least / median(run.seconds)
        rows.append(
            (more + ratio(faster[0]), ratio(faster[1]), task.model, text,
             f"{sum(run.proved)}/{len(answers)}", f"{median(run.seconds):.3f}",
             f"{max(run.seconds):.3f}", f"{median(run.cpu):.3f}", f"{proved}/{len(plain)}",
             f"{median(wall):.2f}", f"{max(wall):.2f}", stated,
             "yes" if min(faster) >= 3 else "NO", f"{same}/{proved}")
        )  # fmt: skip
        print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    return rows


def _same(task: Task, answers: list[Answer], plain: list[Solved], findings: Findings) -> int:
    """How often both prove the same optimum; what HiGHS finds nearer than a proved bound."""
    same = 0
    for number, (answer, other) in enumerate(zip(answers, plain, strict=True), start=1):
        result = answer.result
        if other.distance is None:
            continue
        if other.distance < result.lower_bound - FEASIBLE:
            findings.faults.append(
                f"{task.name}, person {number}: UNSOUND: HiGHS finds {other.distance:.9g}, and "
                f"cfxc claims that nothing is nearer than {result.lower_bound:.9g}"
            )
        if other.proved and result.distance is not None:
            apart = other.distance - result.distance
            same += -result.epsilon - FEASIBLE <= apart <= GAP * other.distance + FEASIBLE
    return same


def run_cold(options: Namespace, peers: Peers | None) -> Section:
    """The first answer of a new process."""
    tasks = [
        fit(adult(), model, make)
        for model, make in {"RF 100×8": forest(100, 8), **_xgboost("XGB 100×6", 100, 6)}.items()
    ]
    return "cold", [cold.table(tasks)], [], Findings()


PARTS: dict[str, Callable[[Namespace, Peers | None], Section]] = {
    "adult": run_adult,
    "continuous": run_continuous,
    "growth": run_growth,
    "mlp": run_networks,
    "cold": run_cold,
}


def _where(part: str, options: Namespace, peers: Peers | None) -> str:
    """The command, the date and the versions."""
    usual = {"part", "markdown", "raw", "usual"}
    changed = [
        f" --{name.replace('_', '-')} {value:g}"
        for name, value in vars(options).items()
        if name not in usual and value != options.usual[name]
    ]
    text = circumstances("".join([f"python benchmarks/exact.py --part {part}", *changed]))
    return text if peers is None else f"{text} Peers: {peers.versions}."


def parse() -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--people", type=int, help="per model (100, 20, 10 and 5)")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit per person, trees")
    parser.add_argument("--peer-people", type=int, default=3, help="treecf's, continuous features")
    parser.add_argument("--ocean-people", type=int, default=5)
    parser.add_argument("--ocean-seconds", type=float, default=100.0)
    parser.add_argument("--growth-seconds", type=float, default=60.0)
    parser.add_argument("--network-seconds", type=float, default=200.0)
    parser.add_argument("--markdown", type=Path, help="page whose sections are rewritten")
    parser.add_argument("--raw", type=Path, help="file to which the Markdown is appended")
    parser.epilog = f"Peers are found through {VARIABLE}."
    options = parser.parse_args()
    options.usual = vars(parser.parse_args([]))
    options.part = list(PARTS) if options.part == "all" else [options.part]
    return options


if __name__ == "__main__":
    main()

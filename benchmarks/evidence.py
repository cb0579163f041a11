"""Whether the answers are right, on the data of Karimi et al. (2020), Tables 2 and 3.

For each data set, model and distance, and each of the first refused people of the test set: an
answer exists, the original model's ``predict`` flips on it, it is plausible (types, ranges,
categories, grid), and it lies no farther than the minimum observable (the nearest training row
that flips).  The share proved optimal and the improvement over the minimum observable are
printed beside the paper's.  On all of these people the oracle (z3) and the engine that is fastest
for the model must agree on the optimum, and on some cvc5 too.
Exits with 1 on any violation.

    CFXC_DATA=… python benchmarks/evidence.py --data compas --people 10
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from fractions import Fraction
from pathlib import Path
from statistics import fmean, median

from support.cases import DATA, DISTANCES, EPSILON, MODELS, Case, cases
from support.evidence import Finding, examine, favourable_rows
from support.report import Table, circumstances, write_section

CHOSEN = ["lr", "tree", "forest(10)", "mlp(10,10)"]
# Table 3 of the paper: MACE (ε = 1e-3) against the minimum observable, in percent; l0, l1, linf.
PAPER: dict[tuple[str, str], tuple[int, int, int]] = {
    ("adult", "tree"): (47, 80, 70),
    ("credit", "tree"): (67, 66, 47),
    ("compas", "tree"): (1, 5, 5),
    ("adult", "forest(10)"): (51, 81, 69),
    ("credit", "forest(10)"): (68, 61, 38),
    ("compas", "forest(10)"): (1, 6, 6),
    ("adult", "lr"): (62, 92, 86),
    ("credit", "lr"): (80, 82, 80),
    ("compas", "lr"): (3, 8, 6),
    ("adult", "mlp(10,10)"): (60, 92, 91),
    ("credit", "mlp(10,10)"): (77, 85, 91),
    ("compas", "mlp(10,10)"): (1, 3, 3),
}
HEADER = (
    "violations", "model", "d", "people", "coverage", "flips", "plausible", "<= MO", "proved",
    "improvement", "paper", "median, s", "max, s",
)  # fmt: skip


def row(case: Case, distance: str, found: list[Finding]) -> tuple[str, ...]:
    """One line of the table."""
    faults = [fault for finding in found for fault in finding.faults]

    def share(word: str) -> str:
        bad = sum(any(word in fault for fault in finding.faults) for finding in found)
        return f"{len(found) - bad}/{len(found)}"

    proved = sum(finding.answer.status == "optimal" for finding in found)
    gains = [f.improvement for f in found if f.improvement is not None]
    paper = PAPER.get((case.data.name, case.model))
    seconds = [finding.seconds for finding in found]
    return (
        str(len(faults)), case.model, distance, str(len(found)), share("no answer"),
        share("does not flip"), share("implausible"), share("farther than a training row"),
        f"{proved}/{len(found)}", f"{fmean(gains):.0%}" if gains else "–",
        "–" if paper is None else f"{paper[DISTANCES.index(distance)]}%",
        f"{median(seconds):.2f}", f"{max(seconds):.2f}",
    )  # fmt: skip


def agreement(
    case: Case, distance: str, found: list[Finding], solver: str, limit: float
) -> list[str]:
    """Where z3 and another solver both prove an optimum, but not the same one within ε.

    ``auto`` is the engine that is fastest for the model: box search, regions, or SMT.
    """
    favourable = favourable_rows(case)
    faults = []
    for number, first in enumerate(found):
        second = examine(
            case, case.people.iloc[[number]], distance, favourable, solver=solver, limit=limit
        )
        where = f"{case.data.name} {case.model} {distance}, person {number}"
        faults += [f"{where}, {solver}: {fault}" for fault in second.faults]
        if first.distance is None or second.distance is None:
            continue
        proved = first.answer.status == second.answer.status == "optimal"
        if proved and abs(first.distance - second.distance) > Fraction(EPSILON):
            mine, theirs = float(first.distance), float(second.distance)
            faults.append(f"{where}: z3 says {mine}, {solver} {theirs}")
    return faults


def run(name: str, options: Namespace) -> tuple[Table, list[str], str]:
    """The table of one data set, all faults in words, and how many answers were compared."""
    table = Table(f"{name}: every answer checked", HEADER)
    faults: list[str] = []
    again = {"cvc5": options.cvc5_people, "auto": options.people}
    compared = dict.fromkeys(again, 0)
    for case in cases([name], options.models):
        favourable = favourable_rows(case)
        number = min(options.people, len(case.people))
        for distance in options.distances:
            found = []
            for i in range(number):
                person = case.people.iloc[[i]]
                finding = examine(case, person, distance, favourable, limit=options.seconds)
                found.append(finding)
                faults += [f"{name} {case.model} {distance}, person {i}: {fault}"
                           for fault in finding.faults]  # fmt: skip
            table.rows.append(row(case, distance, found))
            print(name, *table.rows[-1], sep="  ", file=sys.stderr, flush=True)
            for solver, people in again.items():
                faults += agreement(case, distance, found[:people], solver, options.seconds)
                compared[solver] += min(people, number)
    counts = ", ".join(f"{count} people with {solver}" for solver, count in compared.items())
    return table, faults, f"asked again: {counts}"


def parse() -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=CHOSEN)
    parser.add_argument("--distances", nargs="+", choices=DISTANCES, default=list(DISTANCES))
    parser.add_argument("--people", type=int, default=50, help="per model and distance")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit per person")
    parser.add_argument("--cvc5-people", type=int, default=2, help="asked again with cvc5")
    parser.add_argument("--markdown", type=Path, help="page whose section is rewritten")
    return parser.parse_args()


def main() -> None:
    """Check, print, and exit with 1 if anything is violated."""
    options = parse()
    every: list[str] = []
    for name in options.data:
        table, faults, compared = run(name, options)
        every += faults
        table.show()
        summary = f"{len(faults)} violations; {compared}."
        print(summary, *faults, sep="\n", end="\n\n")
        if options.markdown:
            command = f"python benchmarks/evidence.py --data {name} --people {options.people}"
            text = f"{table.markdown()}\n{summary}\n\n{circumstances(command)}"
            write_section(options.markdown, f"evidence {name}", text)
    raise SystemExit(bool(every))


if __name__ == "__main__":
    main()

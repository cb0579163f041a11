"""The learned generator beside the paper it is of (Vo et al. 2023) and DiCE's random search.

``tables``: tables 2 and 4, four data sets and five black boxes of each.  ``rejected``: the same
without a threshold, beside rejection sampling.  ``rivals``: CERTIFAI, MCCE, Feasible-VAE and COPA
(table 2), and what becomes of outputs that are not one-hot (table 5).  ``selector``: table 6.
``threshold``: figure 4.  ``speed``: 1,000 people of Adult.  ``trees``: models without a gradient.
``seeds``: exact search that starts from its rows.  ``shifted``: people of another school and of
other years.  The paper's own figures are in pictures and tables that its text lacks: what stands
beside ours was measured here.  DiCE 0.12 runs in the Python that ``CFXC_PEER_PYTHON`` names.

    CFXC_DATA=… CFXC_PEER_PYTHON=… python benchmarks/l2c.py --part tables
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from support.l2c_costs import run_seeds, run_speed
from support.l2c_data import PROBLEMS, Problem
from support.l2c_rivals import RIVALS, rival
from support.l2c_runs import COUNT, HEADER, Outcome, dice, row, train
from support.parts import Section, parsed, run_parts
from support.rejection import any_of, best_of, best_unlike, reject
from support.report import Table

PAGE, PICTURE = Path("benchmarks/results/l2c.md"), Path("benchmarks/results/l2c.svg")
THRESHOLDS = (0.2, 0.3, 0.5, 0.7, 1.0)
CHOSEN = {"cfxc, maxmin": "maxmin", "cfxc, harmonic": "harmonic"}
HARDLY = "cfxc, harmonic, one epoch"
BANDED = "cfxc, harmonic, bands"
FINE = {"buckets": 16, "bucket_rows": 10}
REJECTED = {
    "rejection, the first 100": (any_of, COUNT),
    "rejection, the best of 2,000": (best_of, 20 * COUNT),
    "rejection, the best of unlike levels": (best_unlike, 20 * COUNT),
}
FORESTS = {
    "forest, 100 × depth 8": lambda: RandomForestClassifier(100, max_depth=8, random_state=0),
    "boosting, 100 × depth 3": lambda: GradientBoostingClassifier(random_state=0),
}


def main() -> None:
    """Run the parts and print their tables."""
    run_parts("l2c", PARTS, parse(), parse([]))


def problems(options: Namespace) -> Iterator[Problem]:
    """Those asked for whose files are there."""
    for name in options.data.split(","):
        problem = PROBLEMS[name]()
        if problem is None:
            print(f"{name} skipped: it is not in the directory that CFXC_DATA names.")
        else:
            yield problem


def people_of(problem: Problem, options: Namespace) -> pd.DataFrame:
    """The test set, or so many of it, at random."""
    if options.people >= len(problem.people):
        return problem.people
    return problem.people.sample(options.people, random_state=0).sort_index()


def _told(table: Table, data: str, who: str, outcomes: Sequence[Outcome]) -> None:
    table.rows.append(row(data, who, outcomes))
    print(*table.rows[-1], sep="  ", file=sys.stderr, flush=True)


# -- tables 2, 4 and 6, figure 4 -----------------------------------------------------------------


def run_tables(options: Namespace) -> Section:
    """Tables 2 and 4: cfxc at the authors' thresholds and without, DiCE on the same people."""
    table = Table(
        f"Tables 2 and 4: 100 counterfactuals a person, means over {options.seeds} black boxes; "
        "s is for all people",
        HEADER,
    )
    lines = []
    for problem in problems(options):
        people = people_of(problem, options)
        runs: dict[str, list[Outcome]] = {}
        asked = f"cfxc, threshold {problem.threshold}"
        for seed in range(options.seeds):
            trained = train(problem, seed)
            peer = dice(problem, trained.pipeline, people, options.dice_seconds)
            same = people.iloc[: peer.people] if peer else people
            runs.setdefault(asked, []).append(trained.run(same, problem.threshold))
            runs.setdefault("cfxc, no threshold", []).append(trained.run(same))
            if peer:
                runs.setdefault("DiCE, random", []).append(peer)
        for who, outcomes in runs.items():
            _told(table, problem.name, who, outcomes)
        lines += _verdict(problem, runs, asked)
    return [table], lines


def _verdict(problem: Problem, runs: dict[str, list[Outcome]], asked: str) -> list[str]:
    """What the tables must show, of one data set."""
    ours = [outcome.measures for outcome in runs[asked]]
    whole = all(min(m.validity, m.coverage, m.valid_cat) == 1 for m in ours)
    said = "100 %" if whole else "NOT 100 %"
    lines = [f"- {problem.name}: validity, coverage and valid categories {said}."]
    if "DiCE, random" in runs:
        means = [_harmonic(runs[who]) for who in (asked, "DiCE, random")]
        above = "above" if means[0] > means[1] else "NOT above"
        lines.append(
            f"- {problem.name}: harmonic mean {means[0]:.3f}, {above} DiCE's {means[1]:.3f}."
        )
    return lines


def _harmonic(outcomes: Sequence[Outcome]) -> float:
    return float(np.mean([outcome.measures.harmonic for outcome in outcomes]))


def run_rejected(options: Namespace) -> Section:
    """What a trained generator buys beside one that hardly is, and beside drawing at random."""
    table = Table(
        f"No threshold, means over {options.seeds} black boxes; s is for all people", HEADER
    )
    lines = []
    for problem in problems(options):
        people = people_of(problem, options)
        runs: dict[str, list[Outcome]] = {}
        for seed in range(options.seeds):
            trained = train(problem, seed)
            for who, diversity in CHOSEN.items():
                runs.setdefault(who, []).append(trained.run(people, None, diversity))
            hardly = train(problem, seed, epochs=1)
            runs.setdefault(HARDLY, []).append(hardly.run(people, None, "harmonic"))
            fine = train(problem, seed, **FINE)
            runs.setdefault(BANDED, []).append(fine.run(people, None, "harmonic", banded=True))
            for who, (choose, wanted) in REJECTED.items():
                naive = reject(problem, trained.pipeline, people, choose, wanted)
                runs.setdefault(who, []).append(naive)
        for who, outcomes in runs.items():
            _told(table, problem.name, who, outcomes)
        told = [
            f"{who} {_harmonic(runs[who]):.3f} in "
            f"{np.mean([outcome.seconds for outcome in runs[who]]):.2f} s"
            for who in (*CHOSEN, HARDLY, BANDED, *REJECTED)
        ]
        lines.append(f"- {problem.name}: {'; '.join(told)}.")
    return [table], lines


def run_rivals(options: Namespace) -> Section:
    """Table 2's other methods beside cfxc at the authors' thresholds; Table 5."""
    table = Table(
        f"Table 2, its baselines: means over {options.seeds} black boxes; s is for all people",
        HEADER,
    )
    raw = Table(
        "Table 5: before and after the largest column of each category decides",
        ("data", "who", "validity, %", "coverage, %", "validity after, %", "coverage after, %"),
    )
    lines = []
    for problem in problems(options):
        people = people_of(problem, options)
        runs: dict[str, list[Outcome]] = {}
        outputs: dict[str, list[tuple[float, ...]]] = {}
        for seed in range(options.seeds):
            trained = train(problem, seed)
            runs.setdefault("cfxc", []).append(trained.run(people, problem.threshold))
            fine = train(problem, seed, **FINE)
            runs.setdefault(BANDED, []).append(fine.run(people, None, "harmonic", banded=True))
            for who in RIVALS:
                reply = rival(who, problem, trained.pipeline, people)
                runs.setdefault(who, []).append(reply.outcome)
                if reply.raw:
                    after = reply.outcome.measures
                    outputs.setdefault(who, []).append((*reply.raw, after.validity, after.coverage))
        for who, outcomes in runs.items():
            _told(table, problem.name, who, outcomes)
        for who, shares in outputs.items():
            cells = [f"{100 * share:.1f}" for share in np.mean(shares, axis=0)]
            raw.rows.append((problem.name, who, *cells))
        told = ", ".join(f"{who} {_harmonic(own):.3f}" for who, own in runs.items())
        lines.append(f"- {problem.name}, harmonic mean: {told}.")
    return [table, raw], lines


def run_selector(options: Namespace) -> Section:
    """Table 6: with S and without, no threshold; and what training is worth."""
    table = Table(
        f"Table 6: no threshold, means over {options.seeds} black boxes; s is for all people",
        HEADER,
    )
    ways: dict[str, dict[str, Any]] = {
        "with S": {}, "without S": {"selector": False}, "with S, one epoch": {"epochs": 1},
    }  # fmt: skip
    for problem in problems(options):
        people = people_of(problem, options)
        for who, given in ways.items():
            runs = [train(problem, seed, **given).run(people) for seed in range(options.seeds)]
            _told(table, problem.name, who, runs)
    return [table], []


def run_threshold(options: Namespace) -> Section:
    """Figure 4: seconds, harmonic mean and diversity against the threshold."""
    table = Table(
        f"Figure 4: thresholds on the numbers that change, means over {options.seeds} black boxes",
        HEADER,
    )
    curves: dict[str, list[tuple[float, ...]]] = {}
    lines = []
    for problem in problems(options):
        people = people_of(problem, options)
        trained = [train(problem, seed) for seed in range(options.seeds)]
        for threshold in THRESHOLDS:
            runs = [each.run(people, threshold) for each in trained]
            _told(table, problem.name, f"threshold {threshold}", runs)
            none = sum(run.people * (1 - run.measures.coverage) for run in runs)
            if round(none):
                lines.append(
                    f"- {problem.name}, threshold {threshold}: {none:.0f} of "
                    f"{sum(run.people for run in runs)} have no row; for "
                    f"{sum(run.impossible for run in runs)} it is proved that none exists."
                )
            curves.setdefault(problem.name, []).append(
                (
                    threshold,
                    float(np.mean([run.seconds / run.people for run in runs])),
                    float(np.mean([run.measures.harmonic for run in runs])),
                    float(np.mean([run.measures.diversity for run in runs])),
                    problem.threshold,
                )
            )
    if not options.markdown:
        return [table], lines
    draw(curves, PICTURE)
    return [table], [
        *lines,
        "",
        f"![Time, harmonic mean and diversity against the threshold]({PICTURE.name})",
    ]


def draw(curves: dict[str, list[tuple[float, ...]]], path: Path) -> None:
    """Three panels as SVG; squares mark the authors' thresholds."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "cfxc", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    titles = ("seconds per person", "harmonic mean", "diversity")
    for number, (axis, title) in enumerate(zip(figure.subplots(1, 3), titles, strict=True), 1):
        for name, points in curves.items():
            x, y = [point[0] for point in points], [point[number] for point in points]
            (line,) = axis.plot(x, y, ".-", label=name)
            chosen = [(a, b) for a, b, point in zip(x, y, points, strict=True) if a == point[4]]
            axis.plot(*zip(*chosen, strict=True), "s", color=line.get_color())
        axis.set(title=title, xlabel="largest share of numbers changed")
    figure.axes[0].set_yscale("log")
    figure.axes[0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


# -- trees, other people -------------------------------------------------------------------------


def run_trees(options: Namespace) -> Section:
    """Coverage where there is no gradient."""
    table = Table("Models without a gradient: no threshold; s is for all people", HEADER)
    lines = []
    for problem in problems(options):
        people = people_of(problem, options)
        for name, make in FORESTS.items():
            runs = [train(problem, seed, make()).run(people) for seed in range(options.seeds)]
            _told(table, problem.name, name, runs)
            coverage = float(np.mean([run.measures.coverage for run in runs]))
            said = "reached" if coverage >= 0.99 else "NOT reached"
            lines.append(f"- {problem.name}, {name}: coverage {coverage:.2%}, 99 % {said}.")
    return [table], lines


def run_shifted(options: Namespace) -> Section:
    """People of the training data that the black box did not see, and people from elsewhere."""
    table = Table("People from elsewhere: no threshold; s is for all people", HEADER)
    lines = []
    for problem in problems(options):
        if not problem.shifted:
            continue
        runs: dict[str, list[Outcome]] = {}
        for seed in range(options.seeds):
            trained = train(problem, seed)
            runs.setdefault("at home", []).append(trained.run(problem.held(seed)))
            runs.setdefault("elsewhere", []).append(trained.run(people_of(problem, options)))
        for who, outcomes in runs.items():
            _told(table, problem.name, who, outcomes)
        lines.append(
            f"- {problem.name}: {problem.beyond():.1%} of the people from elsewhere have a number "
            "or a label that no training row has."
        )
    return [table], lines


PARTS: dict[str, Callable[[Namespace], Section]] = {
    "tables": run_tables,
    "rejected": run_rejected,
    "rivals": run_rivals,
    "selector": run_selector,
    "threshold": run_threshold,
    "speed": run_speed,
    "trees": run_trees,
    "seeds": run_seeds,
    "shifted": run_shifted,
}


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--data", default=",".join(PROBLEMS), help="names of data sets")
    parser.add_argument("--people", type=int, default=10**9, help="at most, of each test set")
    parser.add_argument("--seeds", type=int, default=5, help="black boxes of each data set")
    parser.add_argument(
        "--dice-seconds", type=float, help="of each black box; all are asked about fewer people"
    )
    parser.add_argument(
        "--models", default="", help="of part speed: A,B; of seeds: data, A; data, B"
    )
    parser.add_argument("--exact-people", type=int, default=20, help="of each model of part seeds")
    parser.add_argument("--markdown", type=Path, help=f"page whose sections are rewritten: {PAGE}")
    return parsed(parser, PARTS, arguments)


if __name__ == "__main__":
    main()

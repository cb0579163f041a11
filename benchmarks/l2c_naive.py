"""L2C's tables beside rejection sampling under their thresholds, and SBA in both directions.

    CFXC_DATA=… python benchmarks/l2c_naive.py [--part thresholds|directions] [--people 10]

``thresholds``: rows that change more numbers than the authors' threshold allows are thrown away.
``directions``: the authors train on loans from 2006 on and explain earlier ones; years that pass
ask for the other way round.  Rules of both are those of ``l2c.py``, fixed before this ran.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from l2c import BANDED, FINE, REJECTED, _harmonic, _told, people_of, problems
from support.l2c_data import PROBLEMS, Problem, sba
from support.l2c_runs import HEADER, Outcome, dice, train
from support.parts import Section, parsed, run_parts
from support.rejection import reject
from support.report import Table

PAGE = Path("benchmarks/results/l2c.md")


def main() -> None:
    """Run the parts and print their tables."""
    run_parts("l2c_naive", PARTS, parse(), parse([]))


def _beside(
    table: Table, problem: Problem, name: str, options: Namespace, threshold: float | None
) -> str:
    """Rows of one data set, and a sentence: ours and rejection."""
    people, runs = people_of(problem, options), dict[str, list[Outcome]]()
    for seed in range(options.seeds):
        trained = train(problem, seed)
        runs.setdefault("cfxc", []).append(trained.run(people, threshold))
        fine = train(problem, seed, **FINE)
        banded = fine.run(people, threshold, "harmonic", banded=True)
        runs.setdefault(BANDED, []).append(banded)
        for who, (choose, wanted) in REJECTED.items():
            share = 1.0 if threshold is None else threshold
            naive = reject(problem, trained.pipeline, people, choose, wanted, share)
            runs.setdefault(who, []).append(naive)
        if options.dice_seconds:
            peer = dice(problem, trained.pipeline, people, options.dice_seconds)
            if peer is not None:
                runs.setdefault("DiCE, random", []).append(peer)
    for who, outcomes in runs.items():
        _told(table, name, who, outcomes)
    return f"- {name}, harmonic mean (s): {', '.join(map(_short, runs, runs.values()))}."


def _short(who: str, outcomes: Sequence[Outcome]) -> str:
    seconds = sum(outcome.seconds for outcome in outcomes) / len(outcomes)
    return f"{who} {_harmonic(outcomes):.3f} ({seconds:.2f})"


def run_thresholds(options: Namespace) -> Section:
    """The authors' thresholds, ours beside rejection."""
    table = Table(
        f"At the authors' thresholds, means over {options.seeds} black boxes; s is for all people",
        HEADER,
    )
    lines = [
        _beside(table, problem, f"{problem.name}, {problem.threshold}", options, problem.threshold)
        for problem in problems(options)
    ]
    return [table], lines


def run_directions(options: Namespace) -> Section:
    """SBA: explain earlier loans by a model of later ones, and later ones by one of earlier."""
    table = Table(
        f"SBA both ways, no threshold, means over {options.seeds} black boxes; s is for all people",
        HEADER,
    )
    lines = list[str]()
    for told, problem in (
        ("later loans train (the authors)", sba()),
        ("earlier loans train", sba(earlier_first=True)),
    ):
        if problem is not None:
            lines.append(_beside(table, problem, told, options, None))
    return [table], lines


PARTS = {"thresholds": run_thresholds, "directions": run_directions}


def parse(given: Sequence[str] | None = None) -> Namespace:
    """The options."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join(PROBLEMS))
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--dice-seconds", type=float, default=0.0)
    parser.add_argument("--markdown", type=Path, help=f"page whose sections are rewritten: {PAGE}")
    return parsed(parser, PARTS, given)


if __name__ == "__main__":
    main()

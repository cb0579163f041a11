"""Labels of compiled programs beside those of the deployed models, for every kind of model.

    python benchmarks/labels.py [--rows 100000] [--only PATTERN] [--seed 0] [--referee 2]
        [--markdown FILE]
    python benchmarks/labels.py --questions [--seconds 20]

Half of the numbers of the rows lie at thresholds of the program, and one float beside them; some
are missing; some categories were in no training row.  Exits with 1 if a label or a number
disagrees, or a registered kind has no example.  ``--questions``: whether one question of a small
model of each kind is answered in time.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from support.label_check import Tally, check
from support.label_examples import Settings, Trained, kinds_in, of_sklearn, registered
from support.label_libraries import of_libraries
from support.label_rows import drawn
from support.report import Table, circumstances

import cfxc
from cfxc.errors import CfxcError
from cfxc.frontends.predictor import plain_item

ONNX, TORCH = "an ONNX export", "a PyTorch module"


@dataclass
class Outcome:
    """What one example showed: of its settings, some are refused, by the library or by us."""

    name: str
    kinds: set[str]
    tally: Tally = field(default_factory=Tally)
    settings: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def examples() -> Iterator[tuple[str, Callable[[], Settings]]]:
    """All of them, by name."""
    yield from of_libraries()
    yield from of_sklearn()


def names_of(trained: Trained) -> set[str]:
    """The kinds that an example is of."""
    own = {cls.__name__ for cls in kinds_in(trained.model)}
    library = type(trained.model).__module__.split(".")[0]
    return own | (
        {ONNX} if library == "onnx" else {TORCH} if trained.options.get("task") else set()
    )


def run(name: str, settings: Settings, options: Namespace) -> Outcome:
    """All settings of an example: what compiles shares the rows."""
    began, outcome = time.perf_counter(), Outcome(name, set())
    compiled: dict[str, tuple[cfxc.CompiledModel, Trained]] = {}
    for setting, make in settings.items():
        try:
            trained = make()
        except Exception as error:  # whatever a library says of what it does not take
            outcome.refused[setting] = f"library: {type(error).__name__}: {error}".split("\n")[0]
            continue
        outcome.kinds |= names_of(trained)
        try:
            compiled[setting] = (
                cfxc.compile(trained.model, trained.space, **trained.options),
                trained,
            )
        except CfxcError as error:
            outcome.refused[setting] = " ".join(str(error).split())
    for place, (setting, (model, trained)) in enumerate(compiled.items()):
        rng = np.random.default_rng([options.seed, place])
        try:
            share = -(-options.rows // len(compiled))
            frame = drawn(model, trained.table, share, rng, ask=not place)
            tally = check(model, frame, rng, options.referee)
        except Exception as error:
            outcome.failed[setting] = f"{type(error).__name__}: {error}"
            continue
        outcome.settings.append(setting)
        tally.shown = [f"{setting}: {said}" for said in tally.shown]
        outcome.tally.add(tally)
    outcome.seconds = time.perf_counter() - began
    return outcome


def as_line(outcome: Outcome) -> str:
    """For the log."""
    t = outcome.tally
    lines = [
        f"{outcome.name}: {t.rows} rows, {t.differ} apart, {t.ties} ties, {t.near} near, "
        f"{t.wrong} WRONG, {t.unrefereed} unrefereed; {', '.join(outcome.settings)}; "
        f"{outcome.seconds:.1f} s"
    ]
    lines += [f"    {said}" for said in t.shown]
    lines += [f"    FAILED {setting}: {said}" for setting, said in outcome.failed.items()]
    lines += [f"    refused {setting}: {said[:300]}" for setting, said in outcome.refused.items()]
    return "\n".join(lines)


def asked(name: str, settings: Settings, seconds: float) -> list[tuple[str, str, str]]:
    """Of each setting that compiles: example, setting, and how its first question is answered."""
    found = []
    for setting, make in settings.items():
        try:
            trained = make()
            compiled = cfxc.compile(trained.model, trained.space, **trained.options)
        except Exception:  # which the other part reports
            continue
        row = trained.table.iloc[[0]]
        before = compiled.predict(row)[0]
        if np.ndim(before):
            continue  # of several numbers, no question is asked
        before = plain_item(before)
        classes = compiled.predictor.classes
        try:
            if classes is None:
                values = np.ravel(compiled.predict(trained.table.iloc[:200]).astype(float))
                target = (float(np.quantile(values, 0.6)), None)
                if before >= target[0]:
                    target = (None, float(np.quantile(values, 0.4)))
            else:
                reached = np.unique(compiled.predict(trained.table.iloc[:2000]).astype(object))
                others = [each for each in reached.tolist() if each != before]
                if not others:
                    continue  # the model says the same of all rows
                target = others[0]
            result = compiled.explain(row, target=target, time_limit=seconds)
        except Exception as error:
            found.append((name, setting, f"{type(error).__name__}: {error}"))
            continue
        gap = "" if result.lower_bound is None else f", at least {result.lower_bound:.3g}"
        found.append((name, setting, f"{result.status}{gap}"))
    return found


def ask_all(options: Namespace) -> int:
    """One question of every example; the table of those that are not answered."""
    table = Table("Not answered", ("example", "setting", "what was said"))
    count = 0
    for name, make in examples():
        if not re.search(options.only, name):
            continue
        for example, setting, said in asked(name, make(), options.seconds):
            count += 1
            print(f"{example}; {setting}: {said[:400]}", file=sys.stderr, flush=True)
            if not said.startswith(("optimal", "feasible", "infeasible")):
                table.rows.append((example, setting, said.split(chr(10))[0][:160]))
    table.show()
    print(f"{count} questions, {len(table.rows)} not answered in {options.seconds:g} s")
    if options.markdown:
        options.markdown.write_text(table.markdown())
    return 0


def by_kind(outcomes: list[Outcome]) -> Table:
    """One row a kind: its examples, their rows, and what they showed."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        for kind in outcome.kinds:
            found[kind].append(outcome)
    table = Table("Labels", ("kind", "examples", "rows", "ties", "near ties", "disagreements"))
    for kind, own in sorted(found.items()):
        sums = [
            sum(getattr(one.tally, n) for one in own) for n in ("rows", "ties", "near", "wrong")
        ]
        table.rows.append((kind, str(len(own)), *(f"{each:,}" for each in sums)))
    return table


def missing(outcomes: list[Outcome]) -> list[str]:
    """Registered kinds that no example holds, or whose examples were all refused."""
    covered = {kind for one in outcomes if one.tally.rows for kind in one.kinds}
    return sorted({cls.__name__ for cls in registered()} - covered)


def report(outcomes: list[Outcome], options: Namespace) -> bool:
    """Print the tables; whether all is well."""
    table = by_kind(outcomes)
    table.show()
    names = ("rows", "ties", "near", "wrong", "unrefereed")
    rows, ties, near, wrong, left = (sum(getattr(o.tally, n) for o in outcomes) for n in names)
    failed = [one for one in outcomes if one.failed]
    lacking = [] if options.only else missing(outcomes)
    said = (
        f"{len(table.rows)} kinds, {len(outcomes)} examples, {rows:,} rows, {ties} ties, "
        f"{near} near ties, "
        f"{wrong} disagreements, {left} rows left undecided, {len(failed)} examples failed"
    )
    print(said)
    print("no example:", ", ".join(lacking) or "none")
    if options.markdown:
        given = f"--rows {options.rows} --referee {options.referee:g}"
        given += f" --only '{options.only}'" if options.only else ""
        command = circumstances(f"python benchmarks/labels.py {given}")
        options.markdown.write_text("\n".join([table.markdown(), said, "", command, ""]))
    return not wrong and not failed and not lacking


def main() -> int:
    """Run what was asked for."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="of each example")
    parser.add_argument("--only", default="", help="examples in whose name this pattern is found")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--referee", type=float, default=2.0, help="seconds of exact arithmetic for 25,000 rows"
    )
    parser.add_argument("--markdown", type=Path, help="a file for the table")
    parser.add_argument("--questions", action="store_true", help="ask one of each instead")
    parser.add_argument("--seconds", type=float, default=20.0, help="for a question")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.questions:
        return ask_all(options)
    outcomes = []
    for name, make in examples():
        if not re.search(options.only, name):
            continue
        outcomes.append(run(name, make(), options))
        print(as_line(outcomes[-1]), file=sys.stderr, flush=True)
    return 0 if report(outcomes, options) else 1


if __name__ == "__main__":
    sys.exit(main())

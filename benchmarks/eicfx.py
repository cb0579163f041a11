"""EI-CFX beside the baselines of its paper, and what it takes.

Adult: which of four methods brings young people whom a logistic regression is sure of nearest to
an even chance (Figure 4).  Taxi: trips that last longer by a share, with few changes (Table 2).
Then whether it finds what is asked for on five functions, what a shared run saves, and the time of
an iteration.

    CFXC_DATA=… python benchmarks/eicfx.py --part adult
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from math import e, exp
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from support import acquisitions
from support.functions import Function, functions
from support.income import income
from support.parts import Section, parsed, run_parts
from support.portable import Array
from support.report import Table
from support.rivals import METHODS
from support.taxi import FREE, Taxi, brute_force, taxi

import cfxc
from cfxc.methods.bayes.evaluations import Caller
from cfxc.methods.bayes.potentials import width_to
from cfxc.methods.bayes.search import Search, Settings, Surrogate
from cfxc.methods.bayes.task import Region, Task
from cfxc.question.rules import make_rules

PAGE, PICTURE = Path("benchmarks/results/ei-cfx.md"), Path("benchmarks/results/eicfx.svg")
MAPS = Path("benchmarks/results/eicfx-maps.svg")
SHARES = (0.1, 0.2, 0.5, 1.0)
QUERIES = 40  # of each function
PAPER = {
    (0.1, 3): ("+10.1%", 0, 0, 0, -0.31), (0.2, 1): ("+19.6%", 0, 0, 0, 2.16),
    (0.2, 2): ("+19.5%", 0, 2, 0, 1.12), (0.2, 3): ("+19.9%", 0, 1, -1, 1.18),
    (0.2, 4): ("+20.9%", 2, -2, 1, 0.92), (0.5, 3): ("+50.0%", 0, 1, -1, 2.45),
    (1.0, 3): ("+56.7%", 2, 2, 0, 3.67), (1.0, 4): ("+57.9%", 2, 2, 1, 3.89),
}  # fmt: skip
"""Its results and changes of ``FREE`` by share and most changes; at most four can change."""
MOVED = {
    "random": (18.4, -25270, 10.9), "L-BFGS-B": (15.3, -1060, 12.3),
    "Bayes on ρ∘f": (16.3, 54590, 10.2), "EI-CFX": (16.8, -24890, 4.2),
}  # fmt: skip
"""Its mean changes (Figure 4b)."""
POINT = 0.01  # of the query's output: how near a result must be


def main() -> None:
    """Run the parts and print their tables."""
    run_parts("eicfx", PARTS, parse(), parse([]))


# -- Adult: Figure 4 -------------------------------------------------------------------------------


def run_adult(options: Namespace) -> Section:
    """The best potential against evaluations: four methods, all queries, five seeds."""
    found = income()
    if found is None:
        return [], ["Adult skipped: it is not in the directory that CFXC_DATA names."]
    compiled = cfxc.compile(found.pipeline, found.space)
    queries = found.queries if options.people is None else found.queries.iloc[: options.people]
    jobs = [
        (name, i, seed) for name in METHODS for i in range(len(queries))
        for seed in range(options.seeds)
    ]  # fmt: skip
    runs = Parallel(n_jobs=options.jobs, batch_size=4)(
        delayed(_adult_run)(  # another seed for everybody, the same for all methods
            name, compiled, queries.iloc[[i]], 1000 * i + seed, options.evaluations
        )
        for name, i, seed in jobs
    )
    title = (
        f"Adult: {len(queries)} people × {options.seeds} seeds, holdout accuracy "
        f"{found.accuracy:.3f}; best potential, mean ± s.e. (most: 1/e = {1 / e:.4f})"
    )
    ticks = [n for n in (5, 10, 15, 20, 30, 40, 50, 60) if n <= options.evaluations]
    traces = Table(title, ("method", *(f"{n} evaluations" for n in ticks), "s per run"))
    changes = Table(
        "mean change of the counterfactuals; in brackets its mean size, then the paper's mean",
        ("method", "age", "capital gain + loss", "hours"),
    )
    curves: dict[str, Array] = {}
    for name in METHODS:
        own = [run for (method, _, _), run in zip(jobs, runs, strict=True) if method == name]
        curve = np.array([trace for trace, _, _ in own])
        curves[name] = curve
        means, errors = curve.mean(axis=0), curve.std(axis=0, ddof=1) / np.sqrt(len(curve))
        cells = [f"{means[n - 1]:.4f} ± {errors[n - 1]:.4f}" for n in ticks]
        traces.rows.append((name, *cells, f"{median(seconds for *_, seconds in own):.2f}"))
        moved = np.array([change for _, change, _ in own if change is not None])
        changes.rows.append((name, *(
            f"{here.mean():,.1f} ({np.abs(here).mean():,.1f}; {there:,})"
            for here, there in zip(moved.T, MOVED[name], strict=True)
        )))  # fmt: skip
    if options.markdown:
        draw(curves, PICTURE)
    return [traces, changes], [
        _ranking(curves, n) for n in sorted({min(20, options.evaluations), options.evaluations})
    ]


def _adult_run(
    name: str, model: cfxc.CompiledModel, row: pd.DataFrame, seed: int, budget: int
) -> tuple[Array, tuple[float, float, float] | None, float]:
    """The trace of best potentials, the change of three features, and seconds."""
    torch.set_num_threads(1)
    box, started = cfxc.BlackBox(model), time.perf_counter()
    chance = float(np.asarray(box.call(row))[0])
    task = _task(box, row, width_to(chance, 0.5), epsilon=1e-6)
    settings = Settings(budget, min(10, budget) - 1, kernel="rbf", random_state=seed)
    Search(Caller(box.call, box.space), [task], settings, METHODS[name]).run()
    seconds = time.perf_counter() - started
    trace = np.array([*task.trace, *[task.best] * budget][:budget])
    if task.point is None:
        return trace, None, seconds
    own, other = box.space.encode_row(row), task.point
    gain, loss = (other[n] - own[n] for n in ("capital_gain", "capital_loss"))
    moved = (
        other["age"] - own["age"],
        gain + loss,
        other["hours_per_week"] - own["hours_per_week"],
    )
    return trace, tuple(map(float, moved)), seconds  # type: ignore[return-value]


def _task(
    box: cfxc.BlackBox, row: pd.DataFrame, potential: cfxc.methods.bayes.Potential, epsilon: float
) -> Task:
    rules = make_rules(box.space, box.space.encode_row(row))
    return Task(row, Region(rules), potential, epsilon)


def _ranking(curves: dict[str, Array], n: int) -> str:
    means = {name: float(curve[:, n - 1].mean()) for name, curve in curves.items()}
    order = sorted(means, key=lambda name: -means[name])
    return f"- After {n} evaluations: {', '.join(f'{name} {means[name]:.4f}' for name in order)}."


def draw(curves: dict[str, Array], path: Path) -> None:
    """Mean and standard error against evaluations."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "cfxc", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    for name, curve in curves.items():
        means, errors = curve.mean(axis=0), curve.std(axis=0, ddof=1) / np.sqrt(len(curve))
        at = np.arange(1, curve.shape[1] + 1)
        axes.plot(at, means, label=name, linewidth=1.5)
        axes.fill_between(at, means - errors, means + errors, alpha=0.25)
    axes.axhline(1 / e, color="gray", linestyle=":", linewidth=1)
    axes.set(xlabel="evaluations of the model", ylabel="best potential", ylim=(0, 0.39))
    axes.legend(frameon=False, loc="lower right")
    axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None})


# -- two features: Figure 3 -----------------------------------------------------------------------


def run_acquisition(options: Namespace) -> Section:
    """How much of two acquisitions lies where the output is as wanted."""
    found = income()
    if found is None:
        return [], ["Adult skipped: it is not in the directory that CFXC_DATA names."]
    torch.set_num_threads(1)
    queries = found.queries if options.people is None else found.queries.iloc[: options.people]
    runs = [
        acquisitions.maps(found, queries.iloc[[i]], seed)
        for i in range(len(queries)) for seed in range(options.seeds)
    ]  # fmt: skip
    runs = [each for each in runs if each[0].can]
    table = Table(
        f"{' and '.join(acquisitions.PAIR)} of {len(runs)} queries and sets of rows, mean ± s.e.",
        ("rows", *(f"{way}: share within {acquisitions.NEAR} of an even chance"
                   for way in acquisitions.WAYS),
         *(f"{way}: away from it where largest" for way in acquisitions.WAYS)),
    )  # fmt: skip
    for place, count in enumerate(acquisitions.COUNTS):
        cells = []
        for of in (acquisitions.Map.mass, acquisitions.Map.away):
            for way in acquisitions.WAYS:
                values = np.array([of(each[place], way) for each in runs])
                error = values.std(ddof=1) / np.sqrt(len(values))
                cells.append(f"{values.mean():.3f} ± {error:.3f}")
        table.rows.append((str(count), *cells))
    if options.markdown:
        acquisitions.draw(runs[0], MAPS)
    return [table], []


# -- taxi: Table 2 ---------------------------------------------------------------------------------


def run_taxi(options: Namespace) -> Section:
    """Targets × bounds on the number of changes, in seconds and in the model's own logarithms."""
    found = taxi()
    if found is None:
        return [], ["Taxi skipped: it is not in the directory that CFXC_DATA names."]
    tables, lines = [], []
    for log in (False, True):
        table, met, possible = _taxi_table(found, log, options)
        tables.append(table)
        what = "log seconds" if log else "seconds"
        lines.append(
            f"- Output in {what}: within 1 point in {met} of {possible} searches whose target the "
            "whole grid says can be reached so closely."
        )
    return tables, lines


def _taxi_table(found: Taxi, log: bool, options: Namespace) -> tuple[Table, int, int]:
    def call(rows: pd.DataFrame) -> Array:
        seconds = found.predict_seconds(rows)
        return np.log(seconds) if log else seconds

    box = cfxc.BlackBox(call, found.space)
    start = float(call(found.query)[0])
    what = "log seconds" if log else "seconds"
    table = Table(
        f"Taxi: output {start:.4g} {what}; up to {options.taxi_budget} evaluations, "
        f"{options.seeds} seeds",
        ("target", "most changes", "paper", "result, median", "nearest possible", "within 1 point",
         "evaluations, median", "random rows: result", "random: within 1 point",
         "random: evaluations", "paper's changes", "changes of the first seed"),
    )  # fmt: skip
    met = possible = 0
    for share in SHARES:
        for most in (1, 2, 3, 4):  # of 4 that may change
            rows = call(brute_force(found, most)) / start - 1
            limit = rows[np.abs(rows - share).argmin()]
            can = abs(limit - share) <= POINT
            drawn = [_drawn(rows, share, options.taxi_budget, s) for s in range(options.seeds)]
            results = []
            for seed in range(options.seeds):
                results.append(
                    box.explain(
                        found.query,
                        cfxc.AEP(share * start),
                        budget=options.taxi_budget,
                        epsilon=_tolerance(POINT / share),
                        subject_to=[cfxc.MaxChanges(most)],
                        random_state=seed,
                        time_limit=600.0,
                    )
                )
            reached = [(r.outcome_after or start) / start - 1 for r in results]
            good = sum(abs(value - share) <= POINT for value in reached)
            met, possible = met + good * can, possible + len(results) * can
            paper, *moved = PAPER.get((share, most), ("",))
            table.rows.append((
                f"+{share:.0%}", str(most) + " (any)" * (most == 4),
                paper, f"{median(reached):+.1%}", f"{limit:+.1%}",
                f"{good}/{len(results)}" + ("" if can else " (impossible)"),
                f"{median(r.evaluations for r in results):.0f}",
                f"{median(value for value, _ in drawn):+.1%}",
                f"{sum(abs(value - share) <= POINT for value, _ in drawn)}/{len(drawn)}",
                f"{median(calls for _, calls in drawn):.0f}",
                ", ".join(f"{n} {by:+.4g}" for n, by in zip(FREE, moved, strict=False) if by),
                ", ".join(f"{n} {b - a:+.4g}" for n, (a, b) in results[0].changes.items()),
            ))  # fmt: skip
    return table, met, possible


def _drawn(rows: Array, share: float, budget: int, seed: int) -> tuple[float, int]:
    """The nearest of random rows of the whole grid, and how many were drawn until one is near."""
    values = np.random.default_rng(seed).permutation(rows)[:budget]
    near = np.flatnonzero(np.abs(values - share) <= POINT)
    calls = int(near[0]) + 1 if len(near) else len(values)
    return float(values[np.abs(values[:calls] - share).argmin()]), calls


def _tolerance(away: float) -> float:
    """ε such that a potential of (1 - ε)/e is within ``away`` widths of the optimum."""
    worst = max(
        ((1 - away) ** 2) * exp(-((1 - away) ** 2)), ((1 + away) ** 2) * exp(-((1 + away) ** 2))
    )
    return 1 - worst * e


# -- five functions, shared runs, time -------------------------------------------------------------


def run_functions(options: Namespace) -> Section:
    """How soon 0.99/e is reached: every method with the same random rows first."""
    ways = {**dict.fromkeys(METHODS), "random rows alone": 0}
    asked = [
        (one, way, seed) for one in range(len(functions())) for way in ways
        for seed in range(QUERIES)
    ]  # fmt: skip
    runs = Parallel(n_jobs=options.jobs, batch_size=4)(
        delayed(_one)(one, "random" if ways[way] == 0 else way, ways[way], seed)
        for one, way, seed in asked
    )
    tables = [
        Table(f"evaluations until the potential is 0.99/e, median (90 %) of {QUERIES} queries",
              ("function", "features", "budget", *ways)),
        Table(f"queries of {QUERIES} that reach it within the budget; seconds of a run, median",
              ("function", *ways)),
    ]  # fmt: skip
    for number, one in enumerate(functions()):
        used, reached = [str(len(one.space)), str(one.budget)], list[str]()
        for way in ways:
            own = [
                run for (which, name, _), run in zip(asked, runs, strict=True)
                if (which, name) == (number, way)
            ]  # fmt: skip
            needed = np.array([calls if good else np.inf for calls, good, _ in own])
            middle, most = np.percentile(needed, [50, 90], method="higher")
            used.append(f"{_up_to(middle, one.budget)} ({_up_to(most, one.budget)})")
            seconds = median(seconds for *_, seconds in own)
            reached.append(f"{np.isfinite(needed).sum()}, {seconds:.2f} s")
        tables[0].rows.append((one.name, *used))
        tables[1].rows.append((one.name, *reached))
    return tables, []


def _up_to(evaluations: float, budget: int) -> str:
    return f"{evaluations:.0f}" if np.isfinite(evaluations) else f"> {budget}"


def _one(number: int, method: str, initial: int | None, seed: int) -> tuple[int, bool, float]:
    """Evaluations, whether they were enough, and seconds; the query changes with the seed."""
    torch.set_num_threads(1)
    one, started = functions()[number], time.perf_counter()
    box, row = cfxc.BlackBox(one.call, one.space), one.query(seed)
    center = float(one.call(row)[0])
    low, high = _range(one)
    side = "+" if high - center > center - low else "-"
    task = _task(box, row, cfxc.AEP(one.width, side), epsilon=0.01)
    search = Search(
        Caller(box.call, box.space), [task], Settings(one.budget, initial, random_state=seed),
        METHODS[method],
    )  # fmt: skip
    search.run()
    return search.caller.calls, task.reached, time.perf_counter() - started


def _range(one: Function) -> tuple[float, float]:
    """The range of outputs on 20,000 random rows: on which side there is more room."""
    rng = np.random.default_rng(0)
    ends = np.array([[float(end) for end in feature.bounds] for feature in one.space])
    X = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * rng.random((20_000, len(ends)))
    values = one.call(pd.DataFrame(X, columns=list(one.space.names)))
    return float(values.min()), float(values.max())


def run_shared(options: Namespace) -> Section:
    """Two questions in one run beside two runs: evaluations until both reach 0.99/e."""
    table = Table(
        "evaluations of two queries, in two runs and in one that shares them; 10 pairs",
        ("model", "two runs", "one run", "share", "pairs with all reached"),
    )
    totals = np.zeros(2)
    cases = [(one.name, [_pair(one, seed) for seed in range(10)]) for one in functions()]
    for name, pairs in [*cases, *_adult_pairs()]:
        apart, together, reached = 0, 0, 0
        for seed, (box, rows, goals, budget) in enumerate(pairs):
            limits = {"random_state": seed, "time_limit": 600.0, "prove": False}
            single = [
                box.explain(row, goal, budget=budget, **limits)
                for row, goal in zip(rows, goals, strict=True)
            ]
            both = box.explain_all(rows, goals, budget=2 * budget, **limits)
            apart += sum(r.evaluations for r in single)
            together += both[0].evaluations
            reached += all(r.status == "optimal" for r in [*single, *both])
        totals += (apart, together)
        table.rows.append((
            name, f"{apart / len(pairs):.1f}", f"{together / len(pairs):.1f}",
            f"{together / apart:.0%}", f"{reached}/{len(pairs)}",
        ))  # fmt: skip
    return [table], [f"- All together: {totals[1] / totals[0]:.0%} of the evaluations of two runs."]


Pair = tuple[cfxc.BlackBox, list[pd.DataFrame], list[cfxc.methods.bayes.Potential], int]


def _pair(one: Function, seed: int) -> Pair:
    """Two random rows of a function, and what is asked of each."""
    rows, (low, high) = [one.query(seed), one.query(seed + 100)], _range(one)
    centers = [float(one.call(row)[0]) for row in rows]
    goals = [cfxc.AEP(one.width, "+" if high - c > c - low else "-") for c in centers]
    return cfxc.BlackBox(one.call, one.space), rows, [*goals], one.budget


def _adult_pairs() -> list[tuple[str, list[Pair]]]:
    """Ten pairs of the people of Figure 4, if the data are there."""
    found = income()
    if found is None:
        return []
    box = cfxc.BlackBox(cfxc.compile(found.pipeline, found.space))
    pairs: list[Pair] = []
    for k in range(0, 20, 2):
        rows = [found.queries.iloc[[k]], found.queries.iloc[[k + 1]]]
        goals = [width_to(float(np.asarray(box.call(row))[0]), 0.5) for row in rows]
        pairs.append((box, rows, [*goals], 80))
    return [("Adult, logistic regression", pairs)]


def run_speed(options: Namespace) -> Section:
    """An iteration at n = 100 evaluated rows of d = 12 real features."""
    torch.set_num_threads(1)
    space = cfxc.FeatureSpace([cfxc.Feature(f"x{i}", "real", 0, 1) for i in range(12)])
    weights = np.random.default_rng(0).normal(size=12)

    def call(rows: pd.DataFrame) -> Array:
        x = rows.to_numpy(np.float64)
        return np.sin(3 * x @ weights) + (x - 0.5) ** 2 @ weights

    stamps: list[float] = []
    box = cfxc.BlackBox(call, space)
    row = space.decode(dict.fromkeys(space.names, 0.5))
    task = _task(box, row, cfxc.AEP(50.0), epsilon=0.0)  # out of reach: it goes on

    def stamp(evaluations: int, share: float) -> None:
        stamps.append(time.perf_counter())

    Search(Caller(call, space), [task], Settings(112, 89, progress=stamp)).run()
    spent = np.diff(stamps)[-16:]
    table = Table(
        "an iteration at 96 to 112 evaluated rows, 12 features, one thread",
        ("median, s", "mean, s", "max, s"),
    )
    table.rows.append(tuple(f"{v:.3f}" for v in (np.median(spent), spent.mean(), spent.max())))
    X, y = np.random.default_rng(1).random((100, 12)), np.random.default_rng(2).random(100)
    started = time.perf_counter()
    Surrogate(space).update(X, y)
    return [table], [
        f"- A fit of the surrogate from nothing at n = 100: {time.perf_counter() - started:.2f} s."
    ]


PARTS: dict[str, Callable[[Namespace], Section]] = {
    "adult": run_adult,
    "acquisition": run_acquisition,
    "taxi": run_taxi,
    "functions": run_functions,
    "shared": run_shared,
    "speed": run_speed,
}


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--people", type=int, help="of Adult; by default all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=50, help="per run, Adult")
    parser.add_argument("--taxi-budget", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help=f"page whose sections are rewritten: {PAGE}")
    return parsed(parser, PARTS, arguments)


if __name__ == "__main__":
    main()

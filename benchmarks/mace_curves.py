"""Figures 4 and 5 and Tables 5 and 6 of Karimi et al. (2020, MACE), in the authors' set-up.

Distances of every method (``distances``); distance and seconds against the calls of Algorithm 1 as
printed, which z3 decides, beside one answer of cfxc (``calls``); and John of section 5, who is in
the data, with answers that differ (``john``).  The paper gives no numbers for its figures.

    CFXC_DATA=… python benchmarks/mace_curves.py --part calls --people 3
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

import pandas as pd
from mace import METHODS, MODELS
from support.algorithm_1 import ModelFormula
from support.cases import DATA, DISTANCES, EPSILON
from support.evidence import query_of
from support.loose_bisection import Step, steps
from support.parts import Section, parsed, run_parts
from support.report import Table
from support.rival_answers import MO, OURS, Limits, Replies, ask, replies, world
from support.setups import AUTHORS

import cfxc

PAGE = Path("benchmarks/results/mace.md")
BOXES = Path("benchmarks/results/mace-distances.svg")
CURVES = Path("benchmarks/results/mace-calls.svg")
NINE = [(data, distance) for data in ("adult", "credit", "compas") for distance in DISTANCES]
CALLS = (1, 2, 4, 8, 12, 16)
ABSOLUTE = Fraction(1, 10**5)
"""ε of Algorithm 1."""
SECONDS = {  # Table 6, ε = 1e-5
    "tree": (35.32, 20.35, 20.44, 25.47, 18.46, 10.58, 13.49, 9.22, 10.76),
    "forest(10)": (89.81, 84.89, 78.49, 107.83, 90.04, 72.38, 33.26, 19.95, 17.22),
    "lr": (2.73, 6.60, 13.32, 1.19, 25.10, 16.21, 0.84, 0.72, 0.77),
    "mlp(10,10)": (5888, 44470, 19712, 1901, 4736, 11129, 100, 257, 203),
}
JOHN = {
    "MaxBillAmountOverLast6Months": 500, "MaxPaymentAmountOverLast6Months": 60,
    "MonthsWithZeroBalanceOverLast6Months": 0, "MonthsWithLowSpendingOverLast6Months": 0,
    "MonthsWithHighSpendingOverLast6Months": 1, "MostRecentBillAmount": 370,
    "MostRecentPaymentAmount": 40, "isMale": 1, "isMarried": 1, "AgeGroup": 3,
}  # fmt: skip
"""Appendix C.4."""
TABLE_5 = (
    {"MostRecentBillAmount": 368, "MostRecentPaymentAmount": 1448},
    {"MostRecentBillAmount": 0, "MostRecentPaymentAmount": 1241},
    {"MostRecentBillAmount": 0, "MostRecentPaymentAmount": 390, "EducationLevel": 4},
)


def main() -> None:
    """Run the parts and print their tables."""
    run_parts("mace_curves", PARTS, parse(), parse([]))


# -- Figure 4 --------------------------------------------------------------------------------------


def run_distances(options: Namespace) -> Section:
    """The distances of each method's answers: least, quartiles, largest."""
    table = Table(
        f"Figure 4: distances of the answers about {options.people} people: median (quartiles), "
        "and how many were answered if not all",
        ("model", "method", *(" ".join(pair) for pair in NINE)),
    )
    found = {(data, model): _replies(data, model, options) for data in DATA for model in MODELS}
    for model in MODELS:
        for method in (OURS, MO, *METHODS[model]):
            cells = [
                _quartiles(_distances(found[data, model], method, distance), options.people)
                for data, distance in NINE
            ]
            if any(cells):
                table.rows.append((model, method, *cells))
    if options.markdown:
        _boxes(found, BOXES)
        return [table], ["", f"![Distances of each method's answers]({BOXES.name})"]
    return [table], []


def _replies(data: str, model: str, options: Namespace) -> Replies:
    return replies(AUTHORS, data, model, _limits(options), METHODS[model])


def _limits(options: Namespace) -> Limits:
    return Limits(options.people, options.seconds, EPSILON)


def _distances(found: Replies, method: str, distance: str) -> list[float]:
    every = found.get((method, distance), ())
    return [float(reply.distance) for reply in every if reply.distance is not None]


def _quartiles(values: Sequence[float], asked: int) -> str:
    if len(values) < 2:
        return ""
    low, middle, high = quantiles(values, method="inclusive")
    some = f" of {len(values)}" if len(values) < asked else ""
    return f"{middle:.3g} ({low:.3g}, {high:.3g}){some}"


def _boxes(found: dict[tuple[str, str], Replies], path: Path) -> None:
    """A box for each method, least to largest; models are rows, distances of data sets columns."""
    figure, axes = _panels("distance")
    for row, model in zip(axes, MODELS, strict=True):
        for axis, (data, distance) in zip(row, NINE, strict=True):
            own = {
                method: _distances(found[data, model], method, distance)
                for method in (OURS, MO, *METHODS[model])
            }
            shown = {method: values for method, values in own.items() if values}
            axis.boxplot(list(shown.values()), whis=(0, 100), widths=0.6)
            axis.set_xticks(range(1, len(shown) + 1), shown, rotation=90)
            axis.set_yscale("log")
    _save(figure, path)


def _panels(what: str) -> tuple[Any, Any]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "cfxc", "svg.fonttype": "none", "font.size": 7})
    figure = Figure(figsize=(18, 9), layout="constrained")
    axes = figure.subplots(len(MODELS), len(NINE))
    for axis, pair in zip(axes[0], NINE, strict=True):
        axis.set_title(" ".join(pair))
    for axis, model in zip(axes[:, 0], MODELS, strict=True):
        axis.set_ylabel(f"{model}: {what}")
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


# -- Figure 5 and Table 6 --------------------------------------------------------------------------


def run_calls(options: Namespace) -> Section:
    """Mean distance after each call of Algorithm 1, and the seconds of both."""
    rows = Table(
        f"Figure 5: mean distance of {options.people} people after so many calls of Algorithm 1 "
        f"(1 where it has no row yet; ε = 1e-5, {options.reference_seconds:g} s a person), beside "
        "one answer of cfxc and the minimum observable",
        ("model", "data", "d", *map(str, CALLS), "cfxc", "MO"),
    )
    times = Table(
        f"Table 6: mean seconds of an answer [paper, ε = 1e-5, no limit], and how many of "
        f"Algorithm 1 ended within {options.reference_seconds:g}",
        ("model", "data", "d", "Algorithm 1 [paper]", "ended", "cfxc", "proved"),
    )
    curves: dict[tuple[str, str, str], tuple[list[float], float, float]] = {}
    for model in MODELS:
        for (data, distance), paper in zip(NINE, SECONDS[model], strict=True):
            traces, mine, spent, proved = _traced(model, data, distance, options)
            longest = max(map(len, traces))
            means = [fmean(_after(trace, k) for trace in traces) for k in range(longest)]
            observed = fmean(_distances(_replies(data, model, options), MO, distance))
            curves[model, data, distance] = (means, mine, observed)
            cells = [f"{means[min(k, longest) - 1]:.3g}" for k in CALLS]
            rows.rows.append((model, data, distance, *cells, f"{mine:.3g}", f"{observed:.3g}"))
            ended = sum(trace[-1].answered for trace in traces)
            times.rows.append((
                model, data, distance,
                f"{fmean(trace[-1].seconds for trace in traces):.2f} [{paper}]",
                f"{ended} of {len(traces)}", f"{spent:.3f}", f"{proved} of {len(traces)}",
            ))  # fmt: skip
    if options.markdown:
        _draw(curves, CURVES)
        return [rows, times], ["", f"![Distance against the calls of Algorithm 1]({CURVES.name})"]
    return [rows, times], []


def _traced(
    model: str, data: str, distance: str, options: Namespace
) -> tuple[list[list[Step]], float, float, int]:
    """The calls of Algorithm 1 for each person; of cfxc mean distance and seconds, and proofs."""
    where = world(AUTHORS, data, model)
    formula = ModelFormula.of(where.case.compiled.program)
    traces, distances, seconds, proved = [], [], [], 0
    for i in range(min(options.people, len(where.case.people))):
        person = where.case.people.iloc[[i]]
        query = query_of(where.case, person, distance)
        traces.append(list(steps(formula, query, ABSOLUTE, options.reference_seconds)))
        started = time.perf_counter()
        reply = ask(where, query, person, None, _limits(options))
        seconds.append(time.perf_counter() - started)
        proved += reply.proved
        if reply.distance is not None:
            distances.append(float(reply.distance))
    return traces, fmean(distances), fmean(seconds), proved


def _after(trace: Sequence[Step], call: int) -> float:
    found = trace[min(call, len(trace) - 1)].found
    return 1.0 if found is None else float(found)


def _draw(curves: dict[tuple[str, str, str], tuple[list[float], float, float]], path: Path) -> None:
    figure, axes = _panels("mean distance")
    for row, model in zip(axes, MODELS, strict=True):
        for axis, (data, distance) in zip(row, NINE, strict=True):
            means, mine, observed = curves[model, data, distance]
            axis.plot(range(1, len(means) + 1), means, "-o", ms=2, label="Algorithm 1")
            axis.axhline(mine, ls="--", color="black", label="cfxc")
            axis.axhline(observed, ls=":", color="gray", label="MO")
            axis.set_yscale("log")
            axis.set_xlabel("calls")
    axes[0][0].legend(frameon=False)
    _save(figure, path)


# -- Table 5 ---------------------------------------------------------------------------------------


def run_john(options: Namespace) -> Section:
    """Three answers for John, who must keep age, sex and marriage, by three ways to differ."""
    table = Table(
        "Table 5: logistic regression on Credit, l1; John is refused in the authors' set-up",
        ("answers", "first", "second", "third"),
    )
    where = world(AUTHORS, "credit", "lr")
    space = where.case.data.space
    for name in ("isMale", "isMarried", "AgeGroup"):
        space = space.replace(name, action="fixed")
    model = cfxc.compile(where.case.pipeline, space)
    rows = cfxc.datasets.load("credit").X.astype(dict(where.case.people.dtypes))
    john = rows[(rows[list(JOHN)] == pd.Series(JOHN)).all(axis=1)]
    theirs = pd.concat([john.assign(**changed) for changed in TABLE_5])
    flips = where.case.pipeline.predict(theirs.astype(john.dtypes)) == where.case.data.favourable
    lines = [
        f"- Rows of the data that are as appendix C.4 has John: {len(john)}.",
        f"- Of the paper's three answers our model accepts {sum(flips)}.",
    ]
    shown = [
        ", ".join(f"{name} {john[name].iloc[0]:g} → {value}" for name, value in changed.items())
        for changed in TABLE_5
    ]
    table.rows.append(("paper", *shown))
    ways: dict[str, Any] = {
        "each changes other features": {"diversity": "features"},
        "each differs by 5 % of a range": {"apart": 0.05},
        "as different as can be within 1.5 times the distance": {"diversity": cfxc.Diverse(0.5)},
    }
    for said, way in ways.items():
        result = model.explain(
            john, target=where.case.data.favourable, distance="l1", count=3,
            epsilon=EPSILON, time_limit=options.seconds, **way,
        )  # fmt: skip
        table.rows.append((said, *(_told(one) for one in result.all())))
    return [table], lines


def _told(answer: cfxc.Result) -> str:
    changes = ", ".join(f"{name} {a:g} → {b:g}" for name, (a, b) in answer.changes.items())
    return f"{changes} (δ {answer.distance:.3g}, {answer.status})"


PARTS: dict[str, Callable[[Namespace], Section]] = {
    "distances": run_distances,
    "calls": run_calls,
    "john": run_john,
}


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--people", type=int, default=15, help="per model")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of one answer of cfxc")
    parser.add_argument("--reference-seconds", type=float, default=10.0, help="of Algorithm 1")
    parser.add_argument("--markdown", type=Path, help=f"page whose sections are rewritten: {PAGE}")
    return parsed(parser, PARTS, arguments)


if __name__ == "__main__":
    main()

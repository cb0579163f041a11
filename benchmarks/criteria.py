"""Realistic counterfactuals: tables 2 and 3 of Maragno, Röber & Birbil (2022), beside DiCE.

    CFXC_DATA=… python benchmarks/criteria.py [--part tables|authors|hull] [--data …] [--models …]

Adult, COMPAS, HELOC and Give Me Some Credit as CARLA prepares them, six kinds of models, 1 and 3
counterfactuals, with and without a trust region; DiCE (genetic) in the Python that
``CFXC_PEER_PYTHON`` names, on the same models and people.  ``authors``: the paper's own models and
people, from a copy of its repository (``--authors``).  ``hull``: 30,000 rows of 50 columns.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from support.authors import FILES, Authors
from support.carla import TABLES, Table
from support.dice_peer import ask_dice
from support.frontier import CHANGE, Frontier
from support.paper_program import PaperProgram
from support.report import Table as Shown
from support.report import circumstances, write_section

import cfxc
from cfxc import metrics

MODELS = {
    "rf": RandomForestClassifier(50, max_depth=6, random_state=0),
    "lr": LogisticRegression(max_iter=1000),
    "cart": DecisionTreeClassifier(max_depth=6, random_state=0),
    "mlp": MLPClassifier((20,), max_iter=100, random_state=0),
    "gbm": GradientBoostingClassifier(n_estimators=30, max_depth=4, random_state=0),
    "svm": LinearSVC(random_state=0),
}
WAYS = {  # what rows are called, ε of the trust region, under l1, ranges that numbers may leave
    "plain": ("cfxc", None, 0),
    "free": ("cfxc, beyond the data", None, 1),
    "hull": ("cfxc, trust region", 0.1, 0),
    "exact": ("cfxc, exact hull", 0.0, 0),
}  # fmt: skip
THEIR_PROGRAM = "program"
APART = 0.02
EDGE = 2e-6  # of a range: what a solver's tolerance makes of a threshold
FAR = 10**9  # of numbers that nothing bounds
AS_THEIRS = 1e-4  # of a range: by how much the paper's answers differ at least
PAPER = {  # of CE-OCL, and with its trust region: categorical, continuous proximity, sparsity
    ("adult", "rf", 1): ((1.00, -4844.35, 0.93), (0.97, -21785.50, 0.86)),
    ("compas", "rf", 1): ((1.00, -15.23, 0.85), (1.00, -30.83, 0.85)),
    ("heloc", "rf", 1): ((None, -12.21, 0.94), (None, -92.71, 0.75)),
    ("credit", "rf", 1): ((None, -1.18, 0.90), (None, -120.61, 0.87)),
    ("adult", "rf", 3): ((0.99, -6775.61, 0.92), (0.97, -25044.04, 0.86)),
    ("adult", "lr", 3): ((0.99, -4226.05, 0.89), (0.96, -23288.53, 0.84)),
    ("adult", "cart", 3): ((0.88, -13994.62, 0.83), (0.94, -19490.98, 0.84)),
    ("adult", "mlp", 3): ((1.00, -10553.10, 0.88), (0.97, -21467.01, 0.86)),
    ("adult", "gbm", 3): ((1.00, -2488.82, 0.91), (0.97, -22732.34, 0.88)),
    ("compas", "rf", 3): ((1.00, -18.79, 0.85), (1.00, -38.02, 0.85)),
    ("compas", "lr", 3): ((1.00, -121.74, 0.80), (0.98, -35.84, 0.75)),
    ("compas", "cart", 3): ((1.00, -23.14, 0.84), (1.00, -28.43, 0.83)),
    ("compas", "mlp", 3): ((1.00, -16.55, 0.81), (1.00, -27.75, 0.82)),
    ("compas", "gbm", 3): ((1.00, -10.10, 0.86), (1.00, -25.70, 0.85)),
    ("heloc", "rf", 3): ((None, -13.53, 0.93), (None, -94.24, 0.75)),
    ("heloc", "lr", 3): ((None, -99.09, 0.88), (None, -138.29, 0.72)),
    ("heloc", "cart", 3): ((None, -13.12, 0.95), (None, -99.05, 0.73)),
    ("heloc", "mlp", 3): ((None, -25.09, 0.92), (None, -98.94, 0.75)),
    ("heloc", "gbm", 3): ((None, -8.41, 0.94), (None, -89.91, 0.76)),
    ("credit", "rf", 3): ((None, -6.77, 0.90), (None, -97.01, 0.89)),
    ("credit", "lr", 3): ((None, -3.79, 0.88), (None, -614.00, 0.83)),
    ("credit", "cart", 3): ((None, -1.85, 0.87), (None, -212.82, 0.85)),
    ("credit", "mlp", 3): ((None, -24.21, 0.89), (None, -996.30, 0.85)),
    ("credit", "gbm", 3): ((None, -175.98, 0.89), (None, -219.19, 0.86)),
}
HEAD = ["data", "model", "k", "who", "people", "found", "valid", "cat. prox.", "cont. prox.",
        "sparsity", "cat. div.", "cont. div.", "proved", "s per answer", "most"]  # fmt: skip


def fitted(data: Table, name: str) -> Any:
    """A model of the data: two-valued categories in one column, numbers in [0, 1]."""
    numbers = [column for column in data.X if column not in data.categories]
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False, drop="if_binary"), data.categories),
        (MinMaxScaler(), numbers),
    )
    return make_pipeline(columns, MODELS[name]).fit(data.X, data.y)


def figures(
    space: cfxc.FeatureSpace, people: pd.DataFrame, answers: list[pd.DataFrame], model: Any
) -> list[str]:
    """The measures of the paper, averaged over people with an answer.

    The paper adds numbers' changes up (its table 5 shows it), where ``metrics`` takes their mean.
    """
    rows: list[list[float]] = []
    warnings.filterwarnings("ignore", "Mean of empty slice")  # of no categories, or one answer
    numbers = sum(not feature.is_symbolic for feature in space)
    for i, found in enumerate(answers):
        if not len(found):
            continue
        row = people.iloc[[i]]
        several = len(found) > 1
        rows.append(
            [
                metrics.validity(model.predict, found, 1),
                metrics.categorical_proximity(space, row, found),
                numbers * metrics.continuous_proximity(space, row, found, scale="none"),
                metrics.sparsity(space, row, found),
                metrics.categorical_diversity(space, found) if several else np.nan,
                numbers * metrics.continuous_diversity(space, found, scale="none")
                if several
                else np.nan,
            ]
        )
    means = np.nanmean(np.array(rows), axis=0) if rows else np.full(6, np.nan)
    return ["" if np.isnan(one) else f"{one:,.2f}" for one in means]


def ours(
    data: Table, model: Any, people: pd.DataFrame, count: int, way: str, seconds: float,
    prices: Sequence[float], apart: float = APART,
) -> Iterator[list[str]]:  # fmt: skip
    """Rows of the table: cfxc, with a trust region or without, for each price of a change.

    The searches are the same for all prices.
    """
    asked, spent = list[list[cfxc.Result]](), list[float]()
    who, width, beyond = WAYS[way]
    region = None if width is None else cfxc.TrustRegion(data.X, data.y, epsilon=width)
    frontier = Frontier(model, _space(data), data.X, region, beyond)
    frontier.candidates(people.iloc[[0]], count, apart, seconds)
    for i in range(len(people)):
        started = time.perf_counter()
        asked.append(frontier.candidates(people.iloc[[i]], count, apart, seconds))
        answered = len(frontier.cheapest(asked[-1], count, apart))
        spent.append((time.perf_counter() - started) / max(answered, 1))
    for price in prices:
        chosen = [frontier.cheapest(each, count, apart, price) for each in asked]
        frames = [[one.counterfactual for one in each] for each in chosen]
        answers = [pd.concat(each) if each else people.iloc[:0] for each in frames]
        proved = sum(one.status == "optimal" for each in chosen for one in each)
        named = who if price == CHANGE else f"{who}, a change at {price:g}"
        found = sum(map(len, answers))
        yield [named, *_line(frontier.space, people, answers, model, spent, found, f"{proved}")]


def _space(data: Table) -> cfxc.FeatureSpace:
    if data.fractions:
        return cfxc.FeatureSpace.infer(data.X, fixed=data.fixed, resolution=None)
    return cfxc.FeatureSpace.infer(data.X, fixed=data.fixed)


def dice(data: Table, model: Any, people: pd.DataFrame, count: int) -> list[str] | None:
    """The same of DiCE's genetic search; ``None`` without its Python."""
    numbers = [column for column in data.X if column not in data.categories]
    replies = ask_dice(model, data.X, data.y, people, numbers, data.fixed, count)
    if not replies:
        return None
    space = _space(data)
    answers = [reply.rows for reply in replies]
    spent = [reply.seconds / max(len(reply.rows), 1) for reply in replies]
    found = sum(map(len, answers))
    return _line(space, people, answers, model, spent, found, "")


def their_program(
    given: Authors, model: Any, people: pd.DataFrame, seconds: float
) -> Iterator[list[str]]:
    """The same of the paper's own program, solved by HiGHS: what the model says of its answers.

    A second row counts those as valid, too, that would be if every tree could move all numbers by
    ``EDGE`` of their ranges: they lie at a threshold.  Both are of the rows before rounding.
    """
    program = PaperProgram(given, model)
    real = dict.fromkeys(given.numbers, "real")  # all of them, there
    space = cfxc.FeatureSpace.infer(given.X, kinds=real, resolution=None)
    for name in given.numbers:
        space = space.replace(name, lower=-FAR, upper=FAR)
    answers, spent = list[pd.DataFrame](), list[float]()
    valid, nearly = list[bool](), list[bool]()
    for i in range(len(people)):
        started, person = time.perf_counter(), people.iloc[[i]]
        answer = program.answer(person, seconds)
        spent.append(time.perf_counter() - started)
        answers.append(people.iloc[:0] if answer is None else program.rounded(person, answer))
        if answer is not None:
            valid.append(bool(model.predict(answer)[0] == 1))
            nearly.append(valid[-1] or program.reaches(answer, EDGE))
    line = _line(space, people, answers, model, spent, sum(map(len, answers)), "")
    for who, share in (("the paper's program, HiGHS", valid), ("the same, to 2e-6", nearly)):
        line[HEAD.index("valid") - HEAD.index("people")] = f"{np.mean(share):.2f}"
        yield [who, *line]


def _line(
    space: cfxc.FeatureSpace, people: pd.DataFrame, answers: list[pd.DataFrame], model: Any,
    spent: list[float], found: int, proved: str,
) -> list[str]:  # fmt: skip
    measured = figures(space, people, answers, model)
    times = [f"{np.median(spent):.2f}", f"{max(spent):.2f}"]
    return [str(len(people)), str(found), *measured, proved, *times]


def tables(options: Any) -> Iterator[list[str]]:
    """The rows of both tables."""
    for name in options.data.split(","):
        data = TABLES[name]()
        for kind in options.models.split(","):
            model = fitted(data, kind)
            refused = data.X[model.predict(data.X) == 0]
            people = refused.sample(min(options.people, len(refused)), random_state=0)
            for count in map(int, options.counts.split(",")):
                own = (name, kind, str(count))
                for way in options.ways.split(","):
                    if way in WAYS:
                        rows = ours(
                            data, model, people, count, way, options.seconds, options.prices
                        )
                        yield from ([*own, *each] for each in rows)
                yield from _of_paper(own, options.ways)
                row = (
                    dice(data, model, people.iloc[: options.dice], count)
                    if options.dice and "dice" in options.ways
                    else None
                )
                if row is not None:
                    yield [*own, "DiCE", *row]


def authors(options: Any) -> Iterator[list[str]]:
    """The same of the paper's own models and people."""
    for name in options.data.split(","):
        given = Authors(options.authors, name)
        for kind in FILES:
            model = given.model(kind)
            people = given.people[model.predict(given.people) == 0]
            if kind not in options.models.split(",") or not len(people):
                continue  # some have what they ask for already
            for count in map(int, options.counts.split(",")):
                own = (name, kind, str(count))
                for way in [one for one in options.ways.split(",") if one in WAYS]:
                    rows = ours(
                        given.table, model, people, count, way, options.seconds, options.prices,
                        AS_THEIRS,
                    )  # fmt: skip
                    yield from ([*own, *each] for each in rows)
                if THEIR_PROGRAM in options.ways and (kind, count) == ("rf", 1):
                    rows = their_program(given, model, people, options.seconds)
                    yield from ([*own, *each] for each in rows)
                yield from _of_paper(own, options.ways)


def _of_paper(own: tuple[str, str, str], ways: str) -> Iterator[list[str]]:
    paper = PAPER.get((own[0], own[1], int(own[2])))
    shown = {
        "paper": "plain" in ways or "free" in ways,
        "paper, trust region": "hull" in ways or "exact" in ways,
    }
    for number, who in enumerate(shown):
        if paper is not None and shown[who]:
            cells = ["" if x is None else f"{x:,.2f}" for x in paper[number]]
            yield [*own, who, "30", "", "1.00", *cells, "", "", "", "", ""]


def hull(people: int) -> Iterator[list[str]]:
    """A trust region over 30,000 rows of 50 columns: seconds per person, and memory."""
    values, labels = make_classification(
        30_000, 50, n_informative=20, n_redundant=10, random_state=0
    )
    X = pd.DataFrame(values, columns=[f"x{i}" for i in range(50)])
    space = cfxc.FeatureSpace.infer(X, resolution=None)
    for name in ("lr", "svm", "mlp", "cart", "gbm"):
        model = make_pipeline(StandardScaler(), MODELS[name]).fit(X, labels)
        compiled, region = cfxc.compile(model, space), cfxc.TrustRegion(X)
        refused = X[model.predict(X) == 0].iloc[: people + 1]
        spent, proved = [], 0
        for i in range(len(refused)):
            started = time.perf_counter()
            result = compiled.explain(refused.iloc[[i]], target=1, trust_region=region,
                                      time_limit=8)  # fmt: skip
            spent.append(time.perf_counter() - started)
            proved += i > 0 and result.status == "optimal"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield [name, str(people), str(proved), f"{spent[0]:.2f}", f"{np.median(spent[1:]):.2f}",
               f"{max(spent[1:]):.2f}", f"{memory:,.0f}"]  # fmt: skip


def main() -> None:
    """Print the tables, each row to stderr as soon as it is there."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("tables", "authors", "hull"), default="tables")
    parser.add_argument("--data", default=",".join(TABLES))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--counts", default="1,3")
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument(
        "--prices",
        type=float,
        nargs="+",
        default=[CHANGE],
        help="deviations that one more change must save; several: a row each",
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of one counterfactual")
    parser.add_argument("--dice", type=int, default=30, help="people whom DiCE is asked about")
    parser.add_argument(
        "--ways", default="plain,hull,dice", help="which rows; exact, free, program, too"
    )
    parser.add_argument("--authors", type=Path, help="a copy of the repository of the paper")
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section")
    options = parser.parse_args()
    if (options.part == "authors") != (options.authors is not None):
        parser.error("--part authors and --authors FOLDER go together")
    if options.part == "hull":
        head = ["model", "people", "proved", "first, s", "median, s", "most, s", "memory, MB"]
        table = Shown("A trust region over 30,000 rows of 50 columns", head)
        rows = hull(options.people)
    else:
        shown = {"tables": "the benchmark CARLA", "authors": "the paper's own models"}
        table = Shown(f"Counterfactuals in {shown[options.part]}", HEAD)
        rows = (tables if options.part == "tables" else authors)(options)
    for row in rows:
        print("  ".join(row), file=sys.stderr, flush=True)
        table.rows.append(row)
    table.show()
    if options.markdown is not None:
        told = circumstances(f"python benchmarks/criteria.py --part {options.part}")
        write_section(options.markdown, f"criteria {options.part}", f"{told}\n\n{table.markdown()}")


if __name__ == "__main__":
    main()

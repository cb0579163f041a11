"""The case studies of Maragno, Röber & Birbil (2022), one criterion after the other.

German Credit (Table 5 of the paper: a linear support vector machine, one person) and Heart (of its
repository: a network of 50 units), whose data ``--heart FILE`` names: ``statlog.csv`` there.
Models, split and the law of causes are those of the repository (C = 0.1; networks by L-BFGS).
Rules, fixed before the first run: the distance is l2 over shares of ranges; from part B on an
answer changes as few features as possible, in a set of three at most two more; sets are ``Diverse``
within twice the least distance; parts A to C may leave the range of the data by as much on either
side, as the paper's have none.

    CFXC_DATA=… python benchmarks/case_study.py [--heart FILE]
"""

from __future__ import annotations

import os
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.svm import LinearSVC
from support.report import Table, circumstances, write_section

import cfxc
from cfxc import metrics

COUNT, WITHIN, MORE, LARGER = 3, 1.0, 2, 0.1
EMPLOYMENT = ("unemployed", "<1", "1<=X<4", "4<=X<7", ">=7")
MEASURES = ["cat. prox.", "cont. prox.", "sparsity", "cat. div.", "cont. div.", "sparsity div."]
Figures = Sequence[float | None]


@dataclass(frozen=True)
class Study:
    """Data, their label (1: favourable), a model, a person, and what the criteria are there.

    ``paper``: the measures of each part, in the order of ``MEASURES``.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    model: Any
    person: int
    fixed: tuple[str, ...]
    increase: tuple[str, ...]
    least: Mapping[str, int]  # numbers with a lower end of their own
    causes: Mapping[str, list[str]]
    paper: Mapping[str, Figures]
    ordered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def german() -> Study:
    """Table 5 of the paper; the person is row 775."""
    table = pd.read_csv(Path(os.environ["CFXC_DATA"], "german_credit", "credit-g.csv"))
    y = (table.pop("class") == "good").astype(int)
    positive = ("duration", "credit_amount", "installment_commitment", "existing_credits",
                "num_dependents")  # fmt: skip
    return Study(
        "German Credit", table, y, LinearSVC(C=0.1, dual=False, max_iter=100_000), 775,
        ("foreign_worker", "personal_status", "purpose"),
        ("age", "residence_since", "employment"), dict.fromkeys(positive, 0),
        {"duration": ["credit_amount"]},
        {
            "A": (1.00, -1715.94, 0.80), "B": (1.00, -16.88, 0.95),
            "C": (1.00, -1423.45, 0.92, 0.00, 2845.81, 0.15),
            "D": (1.00, -23.69, 0.93, 0.00, 46.29, 0.12),
            "E": (0.67, -230.12, 0.63, 0.36, 441.68, 0.42),
            "F": (0.77, -308.20, 0.78, 0.00, 616.40, 0.10),
        },
        {"employment": EMPLOYMENT},
    )  # fmt: skip


def heart(file: Path) -> Study:
    """The second demonstration, of the repository alone; the person is row 263."""
    names = {"cp": "chp", "trestbps": "bp", "chol": "sch", "restecg": "ecg", "thalach": "mhrt",
             "exang": "exian", "oldpeak": "opk", "ca": "vessel"}  # fmt: skip
    table = pd.read_csv(file).rename(columns=names)
    y = (table.pop("presence") == 2).astype(int)  # what is asked for there is the disease
    numbers = ("age", "bp", "sch", "mhrt", "opk")
    for name in table.columns.difference(numbers):
        table[name] = table[name].astype(int).astype(str)
    network = MLPClassifier((50,), solver="lbfgs", max_iter=10_000, random_state=0)
    return Study(
        "Heart", table, y, network, 263,
        ("sex", "age"), (), dict.fromkeys(("bp", "sch", "mhrt", "opk"), 0), {},
        {
            "A": (0.00, -89.05, 0.00), "B": (1.00, -141.26, 0.92),
            "C": (1.00, -137.17, 0.87, 0.00, 11.72, 0.18),
            "D": (1.00, -106.66, 0.90, 0.00, 128.02, 0.15),
            "E": (0.62, -50.19, 0.46, 0.42, 50.25, 0.56),
        },
    )  # fmt: skip


def law() -> TransformedTargetRegressor:
    """How one number follows from others, both scaled to [0, 1]."""
    network = MLPRegressor(
        hidden_layer_sizes=(100,), solver="lbfgs", max_iter=10_000, random_state=0
    )
    return TransformedTargetRegressor(
        make_pipeline(MinMaxScaler(), network), transformer=MinMaxScaler()
    )


class Parts:
    """The questions of one study."""

    def __init__(self, study: Study, seconds: float) -> None:
        self.study, self.seconds = study, seconds
        symbols = [name for name in study.X if not pd.api.types.is_numeric_dtype(study.X[name])]
        self.numbers = [name for name in study.X if name not in symbols]
        self.X = study.X.astype(dict.fromkeys(self.numbers, "float64"))  # reals, as there
        self.rows, _, labels, _ = train_test_split(
            self.X, study.y, test_size=0.2, random_state=0, stratify=study.y
        )
        columns = make_column_transformer(
            (OneHotEncoder(sparse_output=False), symbols), (MinMaxScaler(), self.numbers)
        )
        warnings.filterwarnings("ignore")
        self.model = make_pipeline(columns, study.model).fit(self.rows, labels)
        real = dict.fromkeys(self.numbers, "real")
        orders = {name: list(labels) for name, labels in study.ordered.items()}
        self.space = cfxc.FeatureSpace.infer(self.X, kinds=real, ordinal=orders, resolution=None)
        self.row = self.X.loc[[study.person]]

    def wider(self) -> cfxc.FeatureSpace:
        """With numbers that may leave the data's range."""
        space = self.space
        for name in self.numbers:
            low, high = (float(end) for end in space[name].bounds)
            space = space.replace(name, lower=2 * low - high, upper=2 * high - low)
        return space

    def actionable(self) -> cfxc.FeatureSpace:
        """With what cannot change, and what can only grow."""
        space = self.space
        for name in self.study.fixed:
            space = space.replace(name, action="fixed")
        for name in self.study.increase:
            space = space.replace(name, action="increase")
        for name, least in self.study.least.items():
            space = space.replace(name, lower=least)
        return space

    def results(self) -> Iterator[tuple[str, str, list[cfxc.Result], cfxc.FeatureSpace]]:
        """Each part: its letter, what is new in it, and its answers."""
        wide, own = self.wider(), self.actionable()
        region = cfxc.TrustRegion(self.X, self.study.y, epsilon=0)
        larger = cfxc.TrustRegion(self.X, self.study.y, epsilon=LARGER)
        yield "A", "validity, proximity, coherence", self._ask(wide, (), 1, few=False), wide
        yield "B", "and sparsity", self._ask(wide, (), 1), wide
        yield "C", "and diversity", self._ask(wide, (), COUNT), wide
        yield "D", "and actionability", self._ask(own, (), COUNT), own
        yield "E", "and the data manifold", self._ask(own, (region,), COUNT), own
        yield "E", f"the same, ε = {LARGER}", self._ask(own, (larger,), COUNT), own
        if self.study.causes:
            laws = {
                name: (law().fit(self.rows[of], self.rows[name]), of)
                for name, of in self.study.causes.items()
            }
            causes = cfxc.Causal(laws)
            yield "F", "and causality", self._ask(own, (region, causes), COUNT), own
            text = f"the same, ε = {LARGER}"
            yield "F", text, self._ask(own, (larger, causes), COUNT), own

    def _ask(
        self, space: cfxc.FeatureSpace, rules: tuple[Any, ...], count: int, few: bool = True
    ) -> list[cfxc.Result]:
        compiled, most = cfxc.compile(self.model, space), []
        common = {"target": 1, "time_limit": self.seconds}
        if few:
            fewest = compiled.explain(self.row, distance="l0", subject_to=list(rules), **common)
            if fewest.counterfactual is not None:
                most = [cfxc.MaxChanges(len(fewest.changes) + MORE * (count > 1))]
        options = {"count": count, "diversity": cfxc.Diverse(WITHIN)} if count > 1 else {}
        found = compiled.explain(
            self.row, distance="l2", subject_to=[*most, *rules], **common, **options
        )
        return found.all()

    def measures(self, space: cfxc.FeatureSpace, found: pd.DataFrame) -> list[float]:
        """The paper's measures; of one answer, without those of a set."""
        n, own = len(self.numbers), "none"
        rows = [
            metrics.categorical_proximity(space, self.row, found),
            n * metrics.continuous_proximity(space, self.row, found, scale=own),
            metrics.sparsity(space, self.row, found),
        ]
        if len(found) > 1:
            rows += [
                metrics.categorical_diversity(space, found),
                n * metrics.continuous_diversity(space, found, scale=own),
                metrics.sparsity_diversity(space, found),
            ]
        return rows


def tables(study: Study, seconds: float) -> list[Table]:
    """The measures of each part beside the paper's, and the answers."""
    parts = Parts(study, seconds)
    measured = Table(
        f"{study.name}: ours, in brackets the paper's",
        ["part", "criteria", "valid", *MEASURES, "proved"],
    )
    answers = Table(f"{study.name}: what changes", ["part", "answer", "status", "changes"])
    for letter, what, given, space in parts.results():
        results = [one for one in given if one.counterfactual is not None]
        if not results:
            measured.rows.append([letter, what, *[""] * 7, given[0].status])
            answers.rows.append([letter, "", given[0].status, given[0].reason])
            continue
        found = pd.concat([one.counterfactual for one in results])
        valid = metrics.validity(parts.model.predict, found, 1)
        pairs = zip(parts.measures(space, found), study.paper[letter], strict=False)
        cells = [f"{ours:,.2f} ({paper:,.2f})" for ours, paper in pairs]
        cells += [""] * (len(MEASURES) - len(cells))
        proved = sum(one.status == "optimal" for one in results)
        measured.rows.append([letter, what, f"{valid:.2f}", *cells, f"{proved} of {len(results)}"])
        for number, one in enumerate(results, 1):
            answers.rows.append([letter, f"{number}", one.status, told(one)])
    return [measured, answers]


def told(result: cfxc.Result) -> str:
    """What an answer changes, in words."""
    return "; ".join(f"{name}: {_short(old)} → {_short(new)}"
                     for name, (old, new) in result.changes.items())  # fmt: skip


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(value):.10g}"


def main() -> None:
    """Print the tables, and rewrite their section."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--heart", type=Path, help="statlog.csv of the paper's repository")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section")
    options = parser.parse_args()
    studies = [german(), *([heart(options.heart)] if options.heart else [])]
    shown = [table for study in studies for table in tables(study, options.seconds)]
    for table in shown:
        table.show()
    if options.markdown is not None:
        command = "python benchmarks/case_study.py" + " --heart statlog.csv" * bool(options.heart)
        text = "\n\n".join([circumstances(command), *(table.markdown() for table in shown)])
        write_section(options.markdown, "case study", text)


if __name__ == "__main__":
    main()

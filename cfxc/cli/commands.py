"""What the commands do, apart from reading options."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..errors import DataTypeError, InvalidInputError, MissingColumnError
from ..frontends.csv_files import read_csv
from ..frontends.row_files import read_factual, read_known
from ..writing import check_writable
from .emission import Emit, Transformer, emission
from .guard import INFEASIBLE, LIMIT, deliver
from .report import cell, hint_at_caps, progress, show
from .tables import (
    advice,
    column_names,
    read_distance,
    read_favourable,
    read_levels,
    read_steps,
    read_target,
    without,
)

if TYPE_CHECKING:
    from ..answers.result import Result
    from ..frontends.predictor import Task as KnownTask
    from ..model import CompiledModel
    from ..question.question import Question
    from .flags import Asked
    from .letters import Wanted


class Task(StrEnum):
    """What a model is."""

    classifier = "classifier"
    regressor = "regressor"


@dataclass(frozen=True)
class Source:
    """Where a model and its feature space are, and how to read them."""

    model: str
    space: Path
    trust_pickle: bool
    task: Task | None
    output: str | None = None
    cut: float | None = None

    def load(self, other: str | None = None, favourable: str | None = None) -> CompiledModel:
        """The model compiled over the feature space; or another one, read like it."""
        from ..model import compile
        from ..space import FeatureSpace

        made = compile(
            self.model if other is None else other, FeatureSpace.from_toml(self.space),
            trust_pickle=self.trust_pickle, task=cast("KnownTask | None", self.task),
            output=self.output, cut=self.cut,
        )  # fmt: skip
        return made if favourable is None else read_favourable(made, favourable)


@dataclass(frozen=True)
class Instance:
    """What ``cfxc explain`` says beside options: the factual, and its target."""

    factual: str
    favourable: str | None
    range: str | None
    question: Path | None


@dataclass(frozen=True)
class Statement:
    """The options of ``cfxc space infer``: what is said about columns."""

    target: str | None
    drop: list[str] | None
    fixed: list[str] | None
    increase: list[str] | None
    decrease: list[str] | None
    one_hot: list[str] | None
    thermometer: list[str] | None
    ordinal: list[str] | None
    resolution: list[str] | None


def infer_space(table: Path, statement: Statement, output: Path | None) -> int:
    """Write the feature space of a table as TOML, with warnings about odd columns on stderr."""
    from ..space import FeatureSpace

    check_writable(output)
    frame = read_csv(table).frame()
    with _told_of(table):
        dropped = column_names(statement.drop, list(frame.columns))
        frame = without(
            frame, [*dropped, *([statement.target] if statement.target is not None else [])]
        )
        columns = list(frame.columns)
        space = FeatureSpace.infer(
            frame,
            fixed=column_names(statement.fixed, columns),
            increase=column_names(statement.increase, columns),
            decrease=column_names(statement.decrease, columns),
            one_hot=column_names(statement.one_hot, columns),
            thermometer=column_names(statement.thermometer, columns),
            ordinal=read_levels(statement.ordinal, frame),
            resolution=read_steps(statement.resolution, columns),
        )
    for line in advice(frame, space):
        print(f"cfxc: warning: {line}", file=sys.stderr)
    deliver(space.to_toml(), output)
    return 0


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Messages about a table start with its file."""
    try:
        yield
    except (InvalidInputError, DataTypeError, MissingColumnError) as error:
        raise type(error)(f"{path}: {error}") from error


def compile_model(
    source: Source,
    kind: Emit,
    transformer: Transformer | None,
    outputs: Sequence[str],
    after: str | None,
    output: Path | None,
) -> int:
    """Print a model as IR, core-language program, formula or SMT-LIB."""
    check_writable(output)
    model = source.load()
    deliver(emission(model, Path(source.model).name, kind, transformer, outputs, after), output)
    return 0


def explain(
    source: Source, instance: Instance, requested: Asked, as_json: bool,
    certificate: Path | None, wanted: Wanted,
) -> int:  # fmt: skip
    """Print the nearest counterfactual of one instance, and what is proved about it."""
    check_writable(certificate)
    letter = wanted.ready()
    model = source.load(favourable=instance.favourable)
    row = read_factual(instance.factual, model.space)
    known = read_known(instance.factual, model.space)
    if known is not None:
        model = replace(model, space=model.space.with_examples(known))
    question = _question(model, instance, requested)
    with progress(f"searching, for at most {question.time_limit:g} s …") as watch:
        result = model.explain(row, question, progress=watch)
    try:
        if as_json:
            print(json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False), flush=True)
        else:
            _show_all(result, question.count)
            most = max(len(one.changes) for one in result.all())
            hint_at_caps(most, question.subject_to)
    finally:  # also if the reader of the output has gone
        if letter is not None:  # it names a certificate that is kept
            letter.write(result, certificate=certificate is not None, qr=wanted.qr)
            print(f"letter: {letter.path}", file=sys.stderr)
        if certificate is not None:
            result.certificate.save(certificate)
            print(f"certificate: {certificate} (cfxc check {certificate})", file=sys.stderr)
    return exit_code(result)


def _question(model: CompiledModel, instance: Instance, requested: Asked) -> Question:
    """What is asked: the file's options, and those of flags, which go before."""
    from ..question.question import Question

    base = Question() if instance.question is None else Question.from_toml(instance.question)
    label, distance = requested.options.get("target"), requested.options.get("distance")
    target = None
    if "target" not in base.given or label is not None or instance.range is not None:
        target = read_target(model, label, instance.range)
    if distance is not None:
        distance = read_distance(distance, model.space)
    return requested.question(base, target=target, distance=distance)


FEWER = {"infeasible": "no other one exists, proved", "unknown": "no other one was found in time"}


def _show_all(result: Result, count: int) -> None:
    found = result.all()
    for number, one in enumerate(found, start=1):
        if count > 1:
            print(f"{chr(10) * (number > 1)}{number} of {len(found)} found, {count} asked for")
        show(one)
    if result.stop_reason:
        print("\n" + FEWER[result.stop_reason])


def exit_code(result: Result) -> int:
    """0 proved nearest, 3 proved that there is none, 4 a limit was reached before either."""
    if result.status == "infeasible":
        return INFEASIBLE
    closed = all(one.status == "optimal" for one in result.all())
    return 0 if closed and result.stop_reason != "unknown" else LIMIT


FIXED = ("age", "sex")
PATIENT = 13
"""Row of the table from which on the first patient predicted above the median is taken."""


def demo() -> int:
    """Explain one patient's prognosis; the exit code is that of ``cfxc explain``."""
    import numpy as np
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import RandomForestClassifier

    from ..model import compile
    from ..space import FeatureSpace
    from .commands import exit_code

    started = time.monotonic()
    data = load_diabetes(scaled=False, as_frame=True)
    above = data.target > data.target.median()
    forest = RandomForestClassifier(random_state=0)
    forest.fit(data.data, np.where(above, "above", "below"))
    space = FeatureSpace.infer(data.data, fixed=FIXED)
    model = compile(forest, space)
    patients = data.data.iloc[PATIENT:]
    row = patients[model.predict(patients) == "above"].iloc[[0]]

    print(f"{len(data.data)} diabetes patients; a forest of {len(forest.estimators_)} trees")
    print("predicts whether the disease progresses above or below the median in a year.")
    values = ", ".join(f"{name} {cell(row[name].iloc[0])}" for name in row.columns)
    print(f"patient {row.index[0]}: {values}")
    print("The fewest changes, and the smallest of these, with which it predicts below;")
    print("age and sex are fixed:\n")
    sys.stdout.flush()
    with progress("searching …"):
        result = model.explain(row, target="below", distance="sparse")
    total = f"{time.monotonic() - started:.1f} s with training and compiling"
    show(result, [("in total", total)])
    return exit_code(result)

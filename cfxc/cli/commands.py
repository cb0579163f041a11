"""What the commands do, apart from reading options."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import DataTypeError, InvalidInputError, MissingColumnError
from ..writing import check_writable
from .advice import advice
from .csv_files import read_csv
from .emission import Emit, Transformer, emission
from .guard import INFEASIBLE, LIMIT, deliver
from .report import hint_at_caps, progress, show
from .tables import (
    column_names,
    read_causal,
    read_distance,
    read_factual,
    read_favourable,
    read_known,
    read_levels,
    read_steps,
    read_target,
    read_trust_region,
    without,
)

if TYPE_CHECKING:
    from ..api import CompiledModel
    from ..frontends.predictor import Task as KnownTask
    from ..solvers.result import Result


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

    def load(self, other: str | None = None, favourable: str | None = None) -> CompiledModel:
        """The model compiled over the feature space; or another one, read like it."""
        from ..api import compile
        from ..frontends.space import FeatureSpace

        made = compile(
            self.model if other is None else other, FeatureSpace.from_toml(self.space),
            trust_pickle=self.trust_pickle, task=cast("KnownTask | None", self.task),
        )  # fmt: skip
        return made if favourable is None else read_favourable(made, favourable)


@dataclass(frozen=True)
class Question:
    """The options of ``cfxc explain`` that say what is asked and how."""

    factual: str
    target: str | None
    favourable: str | None
    range: str | None
    distance: str
    epsilon: float
    semantics: Any  # checked where it is used
    method: str
    solver: str
    count: int
    diversity: str
    apart: float
    constraints: Sequence[str]
    max_changes: int | None
    change_penalty: float
    causal: Sequence[str]
    trust_region: str | None
    probability: float | None
    margin: float
    relax: Sequence[str]
    time_limit: float
    jobs: int


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


def infer_space(table: Path, said: Statement, output: Path | None) -> int:
    """Write the feature space of a table as TOML, with warnings about odd columns on stderr."""
    from ..frontends.space import FeatureSpace

    check_writable(output)
    frame = read_csv(table).frame()
    with _told_of(table):
        dropped = column_names(said.drop, list(frame.columns))
        frame = without(frame, [*dropped, *([said.target] if said.target is not None else [])])
        columns = list(frame.columns)
        space = FeatureSpace.infer(
            frame,
            fixed=column_names(said.fixed, columns),
            increase=column_names(said.increase, columns),
            decrease=column_names(said.decrease, columns),
            one_hot=column_names(said.one_hot, columns),
            thermometer=column_names(said.thermometer, columns),
            ordinal=read_levels(said.ordinal, frame),
            resolution=read_steps(said.resolution, columns),
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
    output: Path | None,
) -> int:
    """Print a model as IR, core-language program, formula or SMT-LIB."""
    check_writable(output)
    model = source.load()
    deliver(emission(model, Path(source.model).name, kind, transformer, outputs), output)
    return 0


def explain(source: Source, question: Question, as_json: bool, certificate: Path | None) -> int:
    """Print the nearest counterfactual of one person, and what is proved about it."""
    check_writable(certificate)
    model = source.load(favourable=question.favourable)
    row = read_factual(question.factual, model.space)
    known = read_known(question.factual, model.space)
    if known is not None:
        model = replace(model, space=model.space.with_examples(known))
    target = read_target(model, question.target, question.range)
    distance = read_distance(question.distance, model.space)
    with progress(f"searching, for at most {question.time_limit:g} s …") as watch:
        result = model.explain(
            row,
            target=target,
            distance=distance,
            epsilon=question.epsilon,
            constraints=question.constraints,
            max_changes=question.max_changes,
            change_penalty=question.change_penalty,
            causal=read_causal(question.causal),
            trust_region=read_trust_region(question.trust_region, model.space),
            probability=question.probability,
            margin=question.margin,
            relax=question.relax,
            apart=question.apart,
            semantics=question.semantics,
            method=question.method,
            solver=question.solver,
            time_limit=question.time_limit,
            count=question.count,
            diversity=question.diversity,
            n_jobs=question.jobs,
            progress=watch,
        )
    try:
        if as_json:
            print(json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False), flush=True)
        else:
            _show_all(result, question.count)
            most = max(len(one.changes) for one in result.all())
            hint_at_caps(most, question.max_changes)
    finally:  # also if nobody reads what is printed
        if certificate is not None:
            result.certificate.save(certificate)
            print(f"certificate: {certificate} (cfxc check {certificate})", file=sys.stderr)
    return exit_code(result)


REST = {"infeasible": "no other one exists, proved", "unknown": "no other one was found in time"}


def _show_all(result: Result, count: int) -> None:
    found = result.all()
    for number, one in enumerate(found, start=1):
        if count > 1:
            print(f"{chr(10) * (number > 1)}{number} of {len(found)} found, {count} asked for")
        show(one)
    if result.rest:
        print("\n" + REST[result.rest])


def exit_code(result: Result) -> int:
    """0 proved nearest, 3 proved that there is none, 4 a limit was reached before either."""
    if result.status == "infeasible":
        return INFEASIBLE
    closed = all(one.status == "optimal" for one in result.all())
    return 0 if closed and result.rest != "unknown" else LIMIT

"""What the commands do, apart from reading options."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..errors import InvalidInputError, NoChangeNeededError, UnsupportedError
from ..frontends.row_files import read_factual, read_known
from ..question.outcomes import read_favourable, read_target
from ..stopping import INTERRUPTED as STOPPED
from ..writing import check_writable
from .flags import (
    ALL,
    Asked,
    Factual,
    Favourable,
    Json,
    ModelFile,
    QuestionFile,
    Range,
    Reading,
    SpaceFile,
    takes,
)  # fmt: skip
from .guard import INFEASIBLE, LIMIT, guarded, keep_present
from .interrupts import INTERRUPTED
from .letters import Wanted, apart_for_letters
from .remedies import with_more
from .report import (
    doing,
    hint_at_caps,
    hint_at_copies,
    progress,
    say_next,
    show,
    standing,
    telling,
    to_json,
)
from .tables import read_distance

if TYPE_CHECKING:
    from ..answers.result import Result
    from ..model import CompiledModel
    from ..question.question import Question
    from ..solvers.base import Watch
    from ..space import FeatureSpace


@dataclass(frozen=True)
class Source:
    """Where a model and its feature space are, and how to read them."""

    model: str
    space: Path
    reading: Reading

    def load(self, other: str | None = None, favourable: str | None = None) -> CompiledModel:
        """The model compiled over the feature space; or another one, read like it."""
        from ..space import FeatureSpace

        return self.over(FeatureSpace.from_toml(self.space), other, favourable)

    def over(
        self, space: FeatureSpace, other: str | None = None, favourable: str | None = None
    ) -> CompiledModel:
        """The model compiled over a feature space; or another one, read like it."""
        from ..model import compile

        made = compile(
            self.model if other is None else other, space, task=cast("Any", self.reading.task),
            output=self.reading.output, cut=self.reading.cut,
            trust_pickle=self.reading.trust_pickle,
        )  # fmt: skip
        return made if favourable is None else read_favourable(made, favourable)

    @property
    def files(self) -> tuple[str | Path, ...]:
        """The files that are read."""
        return self.model, self.space

    def words(self) -> list[str]:
        """The model, the space and how to read them, as on the command line."""
        how = self.reading
        options = {"--task": how.task, "--output": how.output, "--cut": how.cut}
        given = [word for name, value in options.items() if value is not None
                 for word in (name, str(value))]  # fmt: skip
        trust = ["--trust-pickle"] * how.trust_pickle
        return [self.model, "--space", str(self.space), *given, *trust]


@dataclass(frozen=True)
class Instance:
    """What ``cfxc explain`` and ``batch`` say beside options: the rows, and their target."""

    factual: Factual
    question: QuestionFile = None
    favourable: Favourable = None
    range_: Range = None

    @property
    def files(self) -> tuple[str | Path | None, ...]:
        """The files that are read."""
        return self.factual, _numbered(self.factual)[0], self.question


def _numbered(text: str) -> tuple[str, str | None]:
    """A table's file and the number of a row in it, if one is named."""
    found = re.fullmatch(r"(.*?)(?::(\d+))?", text, re.DOTALL)
    assert found is not None  # any text matches
    return found[1], found[2]


@guarded
@takes(*ALL, options=True)
def explain(
    *,
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    instance: Instance,
    reading: Reading,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the certificate; .gz compresses it.")
    ] = None,
    wanted: Wanted,
    json: Json = False,
) -> int:
    """The nearest counterfactual of one instance, and its proof."""
    source = Source(model, space, reading)
    taken = (*source.files, *instance.files)
    check_writable(certificate, wanted.letter, *taken)
    letter = wanted.ready(taken, certified=certificate is not None)
    keep_present(wanted.overwrite, certificate, wanted.letter)
    with doing("compiling …"):
        compiled = source.load(favourable=instance.favourable)
    row = read_factual(instance.factual, compiled.space)
    known = read_known(instance.factual, compiled.space)
    if known is not None:
        compiled = replace(compiled, space=compiled.space.with_examples(known))
    question = question_of(compiled, instance, requested)
    if letter is not None:
        letter.check(compiled.space, compiled.program)
        question = apart_for_letters(question)
    certificates = _places(certificate, question.count)
    for place in certificates[1:]:
        check_writable(place, wanted.letter, *taken)
        keep_present(wanted.overwrite, place)
    with watched(question) as watch:
        try:
            result = compiled.explain(row, question, progress=watch)
        except NoChangeNeededError:  # the answer is the row, as where the outcome is favourable
            compiled = replace(compiled, favourable=question.target)
            question = question.with_(target=None)
            result = compiled.explain(row, question, progress=watch)
    try:
        if json:
            print(to_json(result.to_dict()), flush=True)
        else:
            _show_all(result, question.count)
            most = max(len(one.changes) for one in result.all())
            hint_at_caps(most, question.subject_to)
            hint_at_copies(result)
            _say_next(source, instance, requested, result, certificates, written=letter is not None)
    finally:  # also if the reader of the output has gone
        refused = _certify(result, certificates)
        if letter is not None:
            wanted.write(letter, result)
        if refused is not None:
            first = certificates[0]
            old = f"; the file {first} was there before" if first.is_file() else ""
            print(f"cfxc: no certificate is written: {refused}{old}", file=sys.stderr)
    code = exit_code(result)
    return LIMIT if refused is not None and not code else code


@contextmanager
def watched(question: Question) -> Iterator[Watch]:
    """Lines that say where the search stands; of several answers, which one is searched."""
    most, count = f"for at most {question.time_limit:g} s", question.count
    if count == 1 or question.diversity == "pool":  # whose answers come of one search
        with progress(f"searching, {most} …") as watch:
            yield watch
        return

    from ..solvers.base import Counting

    with telling(f"searching {count} answers, {most} each …") as tell:
        yield Counting(
            lambda number, now: tell(now.seconds, f"answer {number} of {count}, {standing(now)}")
        )


def _places(path: Path | None, count: int) -> list[Path]:
    """Where the proofs of so many answers are kept: ``c.json``, ``c-2.json``, …"""
    if path is None:
        return []
    stem, dot, suffixes = path.name.partition(".")
    return [path, *(path.with_name(f"{stem}-{n}{dot}{suffixes}") for n in range(2, count + 1))]


def _certify(result: Result, places: Sequence[Path]) -> UnsupportedError | None:
    """Keep the proofs of all answers; why there is none of the first."""
    refused = None
    for number, (answer, file) in enumerate(zip(result.all(), places, strict=False), 1):
        try:
            with doing("certifying …"):
                answer.certificate.save(file)
        except UnsupportedError as error:
            if number == 1:
                refused = error
            else:
                print(f"no certificate of answer {number}: {error}", file=sys.stderr)
        else:
            print(f"certificate: {file} (cfxc check {file})", file=sys.stderr)
            if answer.relaxed is not None:
                what = " and ".join(map(repr, answer.given_up))
                print(f"note: it proves that there is none with {what}; ask without for one of "
                      "what is possible then", file=sys.stderr)  # fmt: skip
    return refused


def _say_next(
    source: Source, instance: Instance, requested: Asked, result: Result, places: Sequence[Path],
    *, written: bool,
) -> None:  # fmt: skip
    """A letter about an answer; after one, all rows of the table, if a file says what is asked."""
    table, row = _numbered(instance.factual)
    can_write = find_spec("babel") is not None and find_spec("jinja2") is not None
    if can_write and not written and not result.unchanged and result.counterfactual is not None:
        kind = "html" if find_spec("weasyprint") is None else "pdf"
        replaces = bool(places) and "--overwrite" not in with_more()
        say_next(*with_more("--letter", f"letter.{kind}", *["--overwrite"] * replaces))
    elif row is not None and instance.question is not None and not requested.subject_to:
        words = [*source.words(), "--question", str(instance.question), "--rows", table]
        for name in ("target", "distance"):
            if given := requested.options.get(name):
                words += [f"--{name}", given]
        say_next("cfxc", "batch", *words, "-o", "answers.csv")


def question_of(model: CompiledModel, instance: Instance, requested: Asked) -> Question:
    """What is asked: the file's options, and those of flags, which go before."""
    from ..question.question import Question

    base = Question() if instance.question is None else Question.from_toml(instance.question)
    label, target = requested.options.get("target"), None
    distance = requested.options.get("distance") or base.given.get("distance")
    if "target" not in base.given or label is not None or instance.range_ is not None:
        target = read_target(model, label, instance.range_)
    if isinstance(distance, str):
        distance = read_distance(distance, model.space)
    question = requested.question(base, target=target, distance=distance)
    _refuse_idle(requested.options.get("relax") or (), question)
    return question


def _refuse_idle(relax: Sequence[str], question: Question) -> None:
    """Refuse kinds to give up of which nothing is asked for."""
    from ..question.criteria import CRITERIA

    asked = {each.name for each in question.subject_to}
    for each in relax:
        if each in CRITERIA and each not in asked:
            raise InvalidInputError(
                f"--relax {each}: nothing of this kind is asked for; add {CRITERIA[each].flag}, or "
                f"leave --relax {each} out"
            )


def _show_all(result: Result, count: int) -> None:
    from ..answers.result import FEWER

    found = result.all()
    for number, one in enumerate(found, start=1):
        if count > 1:
            fewer = f" ({count} were asked for)" if len(found) < count else ""
            print(f"{chr(10) * (number > 1)}answer {number} of {len(found)}{fewer}")
        show(one, further=number > 1)
    if result.stop_reason:
        print("\n" + FEWER[result.stop_reason])


def exit_code(result: Result) -> int:
    """0 proved nearest (further answers: what was asked for), 3 proved that there is none, 4 a
    limit was reached before either, 130 after Ctrl-C.
    """
    if result.status == "infeasible":
        return INFEASIBLE
    closed = all(one.is_settled for one in result.all())
    if closed and result.stop_reason != "unknown":
        return 0
    return INTERRUPTED if any(one.reason == STOPPED for one in result.all()) else LIMIT

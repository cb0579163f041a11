"""The same question about many instances: in parts, by several processes, kept on disk as it goes.

A part is a run of rows that takes some seconds.  Parts are independent, so that joblib spreads
them, and each is written as soon as it is answered: a batch that was broken off goes on where it
stopped, with the rows that no part holds.
"""

from __future__ import annotations

import os
import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from math import inf
from pathlib import Path
from time import time
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd

from ..arrays import Ints
from ..errors import CfxcError, InvalidInputError
from ..frontends.compiled import Compiled
from ..question.checks import positive_number
from ..question.question import Question
from ..solvers.base import Watch
from ..space.tables import rows_of
from ..stopping import (
    STOPS,
    heeding,
    insisting,
    is_over,
    listening,
    now,
    poll,
    putting_off,
    until,
    was_pressed,
)
from ..writing import held_alone, make_folder, path_of
from .cells import first_alike
from .parts import ERROR, HEAD, NONE, OWED, TOO_LONG, UNASKED, Store, table_of
from .result import Result
from .together import Together

PART = 100
"""Instances in a part, at most."""
FIRST = 1
"""Instances in the first part, before it is known how long one takes."""
SECONDS = 5.0
"""About how long a part takes: what is lost at most, for each process, by a power cut."""
CERTIFYING = 10.0
"""Seconds that a certificate may take where the time limit is less."""
HAD, TOOK = "seconds that there were", "seconds that it took"
WORTH = {"optimal": 2, "infeasible": 2, "feasible": 1}
"""Of two answers about one row, the better one has more."""
STARTING = 20.0
"""Seconds for all rows below which one process answers: others might spend all on starting."""
ENDING = 15.0
"""Seconds after Ctrl-C in which processes that heard it, too, hand in what they answered."""
BEGINNING = 1.0
"""The same while none has answered: most likely they are only starting."""
ONE_EACH = {"count", "diversity", "apart", "relax", "seeds"}
"""Options that a batch, with one answer a row, does not have."""
Done = Callable[[int, int], None]
"""Is told how many instances are answered, and of how many."""


@dataclass(frozen=True)
class Run:
    """How a batch runs.

    Attributes:
        n_jobs: How many processes.
        out: A folder for the parts.
        certificates: A folder for one certificate an answer.
        seconds: After how many no more instance is asked about.
        part: Is told of every part that there is, as a table.
        owed: Is told how many certificates are left, where a batch goes on with them.
        watch: Is told of the search of the present instance, where one process runs.
        overwrite: Whether the parts of another question give way.
    """

    n_jobs: int = 1
    out: str | Path | None = None
    certificates: str | Path | None = None
    seconds: float | None = None
    part: Callable[[pd.DataFrame], None] | None = None
    owed: Callable[[int], None] | None = None
    watch: Watch | None = None
    overwrite: bool = False


def explain_rows(model: Compiled, question: Question, rows: pd.DataFrame, run: Run) -> pd.DataFrame:
    """See :meth:`cfxc.CompiledModel.explain_batch`."""
    refuse_several(question)
    explainer = Together.of(model, question.with_(n_jobs=1), run.watch)
    rows = rows_of(rows, "explain_batch")
    limit = None if run.seconds is None else positive_number(run.seconds, "total_time_limit")
    certified = run.certificates is not None
    if run.certificates is not None:  # absolute: Python may go to another folder
        run = replace(run, certificates=make_folder(run.certificates).absolute())
    store = None
    if run.out is not None:  # absolute: Python may go to another folder, and its processes be there
        folder = path_of(run.out, "a folder").absolute()
        store = Store.open(folder, explainer, rows, certified, run.overwrite)
    batch = Batch(explainer, rows, run, first_alike(rows), inf if limit is None else time() + limit)
    held = nullcontext() if store is None else held_alone(store.path / HEAD)
    with held, suppress(KeyboardInterrupt), warnings.catch_warnings():  # what was answered is kept
        warnings.filterwarnings("ignore", ".* tasks which were still being processed")
        for start, part in ({} if store is None else store.parts()).items():
            batch.keep(start, batch.present(start, part))
        for start, part in batch.missing():
            if store is not None:
                store.add(start, part)
            batch.keep(start, part)
        for start, part in batch.owed():
            if store is not None:
                store.add(start, part)
            batch.kept[start] = part
    table = batch.table()
    if (table["status"] == ERROR).all() and table["reason"].nunique() == 1:
        raise InvalidInputError(f"no instance can be answered: {table['reason'].iloc[0]}")
    return table


def refuse_several(question: Question) -> None:
    """Refuse options that ask for more than one answer a row.

    Raises:
        InvalidInputError: naming them.
    """
    if odd := sorted(ONE_EACH & set(question.given)):
        raise InvalidInputError(
            f"a batch gives one answer a row, and takes no {', '.join(odd)}: ask about single rows "
            "with these (explain), and here without them"
        )


class Batch:
    """The answers to a question about the rows of a table, as they come.

    ``first``: the place of the first row like it, for each row; ``deadline``: of ``time.time``.
    """

    def __init__(
        self, question: Together, rows: pd.DataFrame, run: Run, first: Ints, deadline: float
    ) -> None:
        self.question, self.rows, self.run, self.first = question, rows, run, first
        self.deadline = deadline
        self.kept: dict[int, pd.DataFrame] = {}
        self._tables: list[pd.DataFrame] = []
        self._table = np.full(len(rows), -1)  # of each row: which of them has its answer
        self._line = np.zeros(len(rows), dtype=np.int64)  # and where
        self._pace, self._size = 0.0, FIRST
        self._had = inf  # seconds for what was answered last
        self._pressed = False  # whether Ctrl-C ended what was certified last

    def keep(self, start: int, part: pd.DataFrame) -> None:
        """Part of the answers, which begins with row ``start``."""
        self.kept[start] = part
        self._know(np.arange(start, start + len(part)), part)
        if self.run.part is not None:
            self.run.part(part)

    def present(self, start: int, part: pd.DataFrame) -> pd.DataFrame:
        """A part that was kept, with the index of its rows; certificates that are gone are owed."""
        part = part.set_axis(self.rows.index[start : start + len(part)])
        folder = self.run.certificates
        if folder is not None:
            cells = part["certificate"]
            there = [cell.startswith(NONE) or Path(folder, cell).exists() for cell in cells]
            part["certificate"] = cells.where(there, OWED)
        return part

    def _know(self, places: Ints, answers: pd.DataFrame) -> None:
        self._table[places], self._line[places] = len(self._tables), np.arange(len(places))
        self._tables.append(answers)

    def missing(self) -> Iterator[tuple[int, pd.DataFrame]]:
        """Parts that are not there, in order, as they are answered: where each begins, and it.

        A part ends with the last row before one that was not asked about, when time is up.
        """
        for places, answer in self._answers(self._pieces()):
            own = self._own(places)
            self._measure(own.size, answer.attrs.pop(TOOK))
            requested = ~(answer["reason"] == UNASKED).to_numpy(bool)
            self._note(answer)
            self._know(own[requested], answer[requested])
            known = self._table[self.first[places.start : places.stop]] >= 0
            count = len(places) if known.all() else int(np.argmin(known))
            if count:
                yield places.start, self._spread(places.start, places.start + count)
            if count < len(places) and time() < self.deadline and not was_pressed():
                return

    def owed(self) -> Iterator[tuple[int, pd.DataFrame]]:
        """Parts again, with certificates that there was no time for: their rows are asked again.

        Only once all rows are answered.  What takes all the time of a run is given up, so that the
        next one goes on.
        """
        owing = self._owing()
        if not owing or self._pressed or (self._table < 0).any():
            return
        for places, answer in self._answers(self._in_time(owing)):
            answer.attrs.pop(TOOK)
            self._note(answer)
            if self._settled(places.start, answer):
                start = max(each for each in self.kept if each <= places.start)
                yield start, self._spread(start, start + len(self.kept[start]))
        for start, part in sorted(self.kept.items()):
            again = self._spread(start, start + len(part))
            if not again["certificate"].equals(part["certificate"]):  # of rows like those
                yield start, again

    def _in_time(self, owing: Sequence[int]) -> Iterator[range]:
        for done, place in enumerate(owing):
            if time() >= self.deadline or self._pressed:
                return
            if self.run.owed is not None:
                self.run.owed(len(owing) - done)
            yield range(place, place + 1)

    def _owing(self) -> list[int]:
        """The places of the rows whose certificates are owed, the first of those alike."""
        if self.run.certificates is None:
            return []
        parts = ((start, part["certificate"] == OWED) for start, part in sorted(self.kept.items()))
        places = [start + i for start, owed in parts for i in np.flatnonzero(owed).tolist()]
        return sorted({int(self.first[place]) for place in places})

    def _note(self, answers: pd.DataFrame) -> None:
        """How much time there was, and whether certificates are owed though there is some left."""
        self._had = answers.attrs.pop(HAD, inf)
        if self.run.certificates is not None:
            is_owed = (answers["certificate"] == OWED).any()
            self._pressed |= bool(is_owed) and time() < self.deadline

    def _settled(self, place: int, answer: pd.DataFrame) -> bool:
        """Take an answer that was asked for again, with what became of its certificate.

        That is given up if what is answered is less by now, or if it had most of the time that
        there is for all.
        """
        table, line = self._tables[self._table[place]], self._line[place]
        before, (new,) = table.iloc[line : line + 1], answer.to_dict("records")
        was, asked = before["status"].iloc[0], new["reason"] != UNASKED
        if asked and new["certificate"] != OWED:
            if WORTH.get(new["status"], 0) >= WORTH.get(was, 0):
                self._know(np.array([place]), answer)
                return True
            if new["certificate"].endswith(".gz"):  # it claims less than what is kept
                Path(self.run.certificates or "", new["certificate"]).unlink(missing_ok=True)
            self._know(np.array([place]), before.assign(certificate=TOO_LONG))
            return True
        if self._had >= (self.run.seconds or inf) / 2 and time() >= self.deadline:
            self._know(np.array([place]), before.assign(certificate=TOO_LONG))
            return True
        return False

    def _measure(self, count: int, seconds: float) -> None:
        """Let the next parts take about ``SECONDS``, certificates and all."""
        if count:
            pace = seconds / count
            self._pace = pace if not self._pace else (self._pace + pace) / 2
            self._size = max(1, min(PART, int(SECONDS / max(self._pace, 1e-9))))

    def _pieces(self) -> Iterator[range]:
        """Runs of rows that no part holds, while there is time."""
        held, at = self._table >= 0, 0
        while at < len(held) and time() < self.deadline and not was_pressed():
            if held[at]:
                at += 1
                continue
            end = min(at + min(self._size, PART), len(held))
            end = at + next((i for i in range(end - at) if held[at + i]), end - at)
            yield range(at, end)
            at = end

    def _own(self, places: range) -> Ints:
        """The places of the rows whose like did not come before."""
        here = np.arange(places.start, places.stop)
        own: Ints = here[self.first[here] == here]
        return own

    def _spread(self, start: int, stop: int) -> pd.DataFrame:
        """The answers of a part, also of rows that have the answer of one before."""
        wanted = self.first[start:stop]
        tables = self._table[wanted]
        found, order = list[pd.DataFrame](), list[Ints]()
        for number in np.unique(tables).tolist():
            here = np.flatnonzero(tables == number)
            found.append(self._tables[number].iloc[self._line[wanted[here]]])
            order.append(here)
        part = pd.concat(found).iloc[np.argsort(np.concatenate(order))]
        copied = wanted != np.arange(start, stop)
        part["seconds"] = part["seconds"].mask(copied, 0.0)
        return part.set_axis(self.rows.index[start:stop])

    def _answers(self, pieces: Iterator[range]) -> Iterator[tuple[range, pd.DataFrame]]:
        """The answers of own rows, part by part, and where these are."""
        if self.run.n_jobs == 1 or (self.run.seconds or inf) < STARTING:
            with listening():
                for places in pieces:
                    yield places, answer_part(self.question, *self._task(places))
            return
        from joblib import Parallel, delayed

        content, sent, first = _packed(self.question), deque[range](), next(pieces, None)
        if first is None:
            return
        batch = os.getpid(), uuid4().hex

        def work() -> Iterator[Any]:
            for places in chain([first], pieces):
                sent.append(places)
                yield delayed(_answer_for)(batch, content, *self._task(places))

        begun = False
        with listening(), insisting(lambda: ENDING if begun else BEGINNING):
            try:
                with putting_off():  # it ends a process that has only begun, and so the batch
                    answers = Parallel(n_jobs=self.run.n_jobs, return_as="generator")(work())
                for answer in answers:
                    begun = True
                    yield sent.popleft(), answer
            except BrokenExecutor:
                if not was_pressed():  # which ends a process that has only begun
                    raise

    def _task(self, places: range) -> tuple[pd.DataFrame, float, list[Path] | None]:
        own = self._own(places)
        rows, folder = self.rows.iloc[own], self.run.certificates
        if folder is None:
            return rows, self.deadline, None
        index = self.rows.index
        numbered = index.is_unique and pd.api.types.is_integer_dtype(index)
        names = rows.index.tolist() if numbered else own.tolist()
        return rows, self.deadline, [Path(folder, f"row-{name}.json.gz") for name in names]

    def table(self) -> pd.DataFrame:
        """All answers, in the order of the rows; ``unknown`` for who was not asked about."""
        parts, at = list[pd.DataFrame](), 0
        for start, part in sorted(self.kept.items()):
            parts += [self._nothing(at, start), part]
            at = start + len(part)
        parts.append(self._nothing(at, len(self.rows)))
        return pd.concat([part for part in parts if len(part)])

    def _nothing(self, start: int, stop: int) -> pd.DataFrame:
        rows = self.rows.iloc[start:stop]
        return table_of(rows, [None] * len(rows), self.run.certificates is not None)


def _packed(question: Together) -> bytes:
    """The question as bytes, which a process unpacks once for all its parts.

    What a process has worked out of the model, it then keeps.

    Raises:
        InvalidInputError: the model is none that can be sent to another process.
    """
    from joblib import wrap_non_picklable_objects

    try:
        return pickle.dumps(wrap_non_picklable_objects(question, keep_wrapper=False))
    except Exception as error:  # whatever parts of a library's model raise
        said = str(error).partition("\n")[0][:200]
        raise InvalidInputError(
            f"this model cannot be sent to other processes ({said}); ask with n_jobs=1"
        ) from error


@lru_cache(maxsize=1)
def _unpacked(content: bytes) -> Together:
    question: Together = pickle.loads(content)
    return question


def _answer_for(batch: tuple[int, str], *task: Any) -> pd.DataFrame:
    """The answers of a part; in a process of its own Ctrl-C ends it for the whole batch."""
    asking, name = batch
    if os.getpid() != asking:
        heeding(name)
    return answer_part(*task)


def answer_part(
    question: Together | bytes,
    rows: pd.DataFrame,
    deadline: float = inf,
    certificates: Sequence[Path] | None = None,
) -> pd.DataFrame:
    """A table of answers with the index of ``rows``, which are asked about until the deadline."""
    had = deadline - time()
    question, started = _unpacked(question) if isinstance(question, bytes) else question, now()
    with listening(), until(now() + (deadline - time())):
        answers = question.answers(rows)
    if certificates is None:
        table = table_of(rows, answers, False)
        table.attrs[TOOK] = now() - started
        return table
    saved, most = list[str](), max(question.question.time_limit, CERTIFYING)
    with listening(), until(now() + (deadline - time())):
        for answer, path in zip(answers, certificates, strict=True):
            saved.append(_certified(answer, path, most))
    table = table_of(rows, answers, True)
    table["certificate"] = pd.Series(saved, rows.index, dtype=object)
    table.attrs |= {HAD: had, TOOK: now() - started}
    return table


def _certified(answer: Result | CfxcError | None, path: Path, seconds: float) -> str:
    """The name of the certificate's file, which is written; else why there is none."""
    if not isinstance(answer, Result) or answer.unchanged:
        return ""
    try:
        with until(now() + seconds):
            if answer.status != "unknown":  # of which there is none, whatever the time
                poll()
            answer.certificate.save(path)
    except CfxcError as error:
        return f"{NONE}{str(error).splitlines()[0]}"
    except STOPS:
        return OWED if is_over() else TOO_LONG
    return path.name

"""The same question about many instances: the model is asked about all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from ..errors import CfxcError, NoChangeNeededError, SolverError
from ..frontends.predictor import plain_item
from ..ir import ops
from ..question.query import Query
from ..solvers.base import Outcome, Point
from ..solvers.engines import Engine
from ..stopping import INTERRUPTED, LIMIT, Span, left, now
from .cells import Cells, cells_of
from .explaining import Explainer
from .original import Original
from .result import Result


class Together(Explainer):
    """A question put to a model, for many factuals."""

    def answers(self, rows: pd.DataFrame) -> list[Result | CfxcError | None]:
        """The nearest counterfactual of each row, or why there is no answer.

        Where the original model's answers do not depend on how many rows it is given, it is asked
        about all instances at once; the few whose answer it does not accept are searched again.
        ``None`` for who was not answered yet when Ctrl-C was pressed, or the time of all was up; or
        who was, with less than the question's time and no proof.
        """
        found: dict[int, Result | CfxcError] = {}
        waiting, done, stop = list[Waiting](), dict[int, NoChangeNeededError](), ""
        frames = [rows.iloc[i : i + 1] for i in range(len(rows))]
        given = zip(frames, self._before(frames), cells_of(rows), strict=True)
        for i, (frame, before, cells) in enumerate(given):
            if stop == INTERRUPTED or left() <= 0:
                break
            try:
                one, stop = self._begun(frame, before, cells)
                if stop == INTERRUPTED or (stop == LIMIT and left() <= 0):
                    break
                if one.outcome.best is not None and one.original.trusted:
                    one.span.end()
                    waiting.append(replace(one, place=i))
                    continue
                one.original.trusted = False
                found[i] = self._result(one.query, one.engine, one.original, one.outcome, one.span)
            except NoChangeNeededError as error:
                done[i] = error
            except Exception as error:
                found[i] = _as_error(error)
        found |= self._told(waiting, stop) | self._all_unchanged(frames, done)
        return [
            None if i in found and self._is_cut_short(found[i]) else found.get(i)
            for i in range(len(frames))
        ]

    def _is_cut_short(self, answer: Result | CfxcError) -> bool:
        """Whether more would have been found in the question's own time."""
        if isinstance(answer, CfxcError) or answer.status not in ("feasible", "unknown"):
            return False
        early = left() <= 0 and answer.seconds < self.question.time_limit
        return answer.reason == INTERRUPTED or (answer.reason == LIMIT and early)

    def _before(self, frames: Sequence[pd.DataFrame]) -> list[Any]:
        """What the deployed model says of each instance, asked of all at once; else ``None``."""
        nothing = [None] * len(frames)
        summed = any(isinstance(let.op, ops.Affine) for let in self.model.program.lets())
        if summed or not self._asks_first or len(frames) < 2:
            return nothing  # sums of products may depend on how many rows there are
        try:
            return list(map(plain_item, self.model.predict(pd.concat(frames, ignore_index=True))))
        except CfxcError:  # of one row that the model does not take: each is asked alone
            return nothing

    def _begun(self, frame: pd.DataFrame, before: Any, cells: Cells) -> tuple[Waiting, str]:
        """The search for one instance, whose answer the original model did not see, and its end."""
        span = Span(self.question.time_limit)
        query, engine, stop = self._posed(frame, span, before, cells)
        trusted = engine is not None and engine.by_row
        original = self._original(query, engine, frame, trusted=trusted)
        outcome = Outcome(reason=stop)
        if engine is not None:
            query, outcome = self._search(query, engine, original, 0, span)
        return Waiting(query, engine, original, outcome, span), outcome.reason

    def _told(self, waiting: Sequence[Waiting], stop: str) -> dict[int, Result | CfxcError]:
        """The answers of those whose points the original model was not asked about yet."""
        found: dict[int, Result | CfxcError] = {}
        requested = True
        try:
            self._ask([(one.original, one.outcome) for one in waiting])
        except CfxcError:  # of one row that the model does not take: everyone is asked alone
            requested = False
        for one in waiting:
            assert one.outcome.best is not None
            try:
                if requested and one.original.flips(one.outcome.best.point):
                    parts = one.query, one.engine, one.original, one.outcome, one.span
                    found[one.place] = self._result(*parts)
                elif stop != INTERRUPTED:
                    again = now() - one.span.seconds  # what was spent counts
                    found[one.place] = self.answer(one.original.frame, again)
            except NoChangeNeededError as error:
                found[one.place] = self._all_unchanged([one.original.frame], {0: error})[0]
            except Exception as error:
                found[one.place] = _as_error(error)
        return found

    def _all_unchanged(
        self, frames: Sequence[pd.DataFrame], done: Mapping[int, NoChangeNeededError]
    ) -> dict[int, Result | CfxcError]:
        """The answers of those who have the target outcome; alone, where the model fails."""
        if not done:
            return {}
        try:
            together = self._unchanged([frames[i] for i in done], list(done.values()))
            return dict(zip(done, together, strict=True))
        except CfxcError as error:
            if len(done) == 1:
                return dict.fromkeys(done, error)
        alone = (self._all_unchanged(frames, {i: error}) for i, error in done.items())
        return {i: answer for each in alone for i, answer in each.items()}

    def _ask(self, waiting: Sequence[tuple[Original, Outcome]]) -> None:
        """Tell everyone what the original model says of them and of their answer."""
        by_types: dict[tuple[Any, ...], list[tuple[Original, Point]]] = {}
        for original, outcome in waiting:
            assert outcome.best is not None
            point = outcome.best.point
            types = (*original.frame.dtypes, *original.row(point).dtypes)
            by_types.setdefault(types, []).append((original, point))
        for pairs in by_types.values():
            before = pd.concat([original.frame for original, _ in pairs], ignore_index=True)
            after = pd.concat([original.row(point) for original, point in pairs], ignore_index=True)
            if before.dtypes.equals(after.dtypes):
                both = self.model.predict(pd.concat([before, after], ignore_index=True))
                reported = zip(both[: len(pairs)], both[len(pairs) :], strict=True)
            else:
                reported = zip(self.model.predict(before), self.model.predict(after), strict=True)
            told = zip(pairs, reported, cells_of(after), strict=True)
            for (original, point), (first, second), cells in told:
                original.tell(first, point, second, cells)


@dataclass(frozen=True)
class Waiting:
    """One instance's answer that the original model has not seen; ``place`` among all instances."""

    query: Query
    engine: Engine | None
    original: Original
    outcome: Outcome
    span: Span
    place: int = 0


def _as_error(error: Exception) -> CfxcError:
    """What went wrong with one row, so that the others get their answers."""
    if isinstance(error, CfxcError):
        return error
    return SolverError(f"internal error, please report it: {type(error).__name__}: {error}")

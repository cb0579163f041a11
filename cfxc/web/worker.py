"""A process that searches: one job at a time, a line of JSON in, lines of JSON out.

Solvers are not made for several threads of one process, and what does not end can only be ended
with its process.  A job that is no longer wanted is told by SIGINT, which searches heed as Ctrl-C:
they end with what they have.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..answers.result import Result
from ..errors import CfxcError, InvalidInputError
from ..solvers.base import Counting, Progress
from ..stopping import TimeUp, listening, now, until
from .asking import FieldErrors, read_asked
from .recipes import recipes
from .site import Files, Site
from .views import progress_view, result_view

KEPT = 16
"""Answers that letters and certificates can still be asked of."""
FAULT = "internal error; the server's terminal says more"
GONE = "this answer is no longer kept; find it again"
STOPPED = "stopped"
BEGUN = {"begun": True}
"""Said as soon as a job hears SIGINT."""

Say = Callable[[Mapping[str, Any]], None]


class Worker:
    """Answers jobs, and keeps the last answers for what is made of them."""

    def __init__(self, site: Site, say: Say) -> None:
        self.site, self.say = site, say
        self.kept: OrderedDict[str, Result] = OrderedDict()

    def answer(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """What comes of a job: ``done``, or ``error`` with what is wrong."""
        jobs = {"explain": self._explain, "letter": self._letter, "certificate": self._certificate}
        try:
            return {"done": jobs[job["do"]](job)}
        except FieldErrors as error:
            return {"error": str(error), "where": error.where}
        except CfxcError as error:
            return {"error": str(error)}
        except TimeUp:
            return {
                "error": f"this was not ready within {job['seconds']:g} s, the page's --time-limit"
            }
        except KeyboardInterrupt:
            return {"error": STOPPED}
        except MemoryError:
            return {"error": "out of memory; ask a narrower question"}
        except Exception:  # nothing of it reaches the page
            sys.excepthook(*sys.exc_info())
            return {"error": FAULT}

    def _explain(self, job: Mapping[str, Any]) -> dict[str, Any]:
        def tell(number: int, stands: Progress) -> None:
            self.say({"progress": {**progress_view(stands), "number": number, "count": count}})

        with _interruptible(), listening():  # an early stop ends with what there is, too
            self.say(BEGUN)
            asked = read_asked(self.site, job["question"], job["seconds"])
            count = asked.question.count
            result = asked.model.explain(asked.frame, asked.question, progress=Counting(tell))
        self.kept[job["id"]] = result
        while len(self.kept) > KEPT:
            self.kept.popitem(last=False)
        return {**result_view(self.site, asked, result), "recipes": recipes(self.site, asked)}

    def _letter(self, job: Mapping[str, Any]) -> dict[str, Any]:
        result = self._answer_of(job)
        with _interruptible(), until(now() + job["seconds"]):
            self.say(BEGUN)
            with warnings.catch_warnings(record=True) as told:
                result.letter(job["path"], locale=job["locale"])
        return {"path": job["path"], "lacks": "; ".join(str(each.message) for each in told)}

    def _answer_of(self, job: Mapping[str, Any]) -> Result:
        if job["id"] not in self.kept:
            raise InvalidInputError(GONE)
        return self.kept[job["id"]]

    def _certificate(self, job: Mapping[str, Any]) -> dict[str, Any]:
        answers = self._answer_of(job).all()
        if job["number"] > len(answers):
            raise InvalidInputError(
                f"there is no answer {job['number']}; {len(answers)} were found"
            )
        with _interruptible(), until(now() + job["seconds"]):
            self.say(BEGUN)
            answers[job["number"] - 1].certificate.save(Path(job["path"]))
        return {"path": job["path"]}


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGINT is heard inside, and nowhere else: it may come when its job has just ended."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def main() -> None:
    """Read the files that the first line names, then answer a job a line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message, ensure_ascii=True, allow_nan=False) + "\n")
        out.flush()

    try:
        site = Files(**json.loads(sys.stdin.readline())).load()
    except CfxcError as error:
        say({"error": str(error)})
        return
    say({"ready": site.digest})
    worker = Worker(site, say)
    for line in sys.stdin:
        say(worker.answer(json.loads(line)))


if __name__ == "__main__":
    main()

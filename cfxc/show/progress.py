"""What goes on, in one line, while something takes long: in terminals and in notebooks.

By default only where somebody sits in front of it (a notebook, an interactive session), and only
after ``PATIENCE`` seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Any

from ..errors import DataTypeError
from ..solvers.base import Progress

PATIENCE = 2.0
"""Seconds of silence before the line appears."""
EVERY = 0.2
"""Seconds between two looks."""
RARELY = 10.0
"""Seconds between two lines where stderr is a file."""
Wanted = bool | Callable[..., None] | None
"""What ``progress=`` takes; ``None``: whether somebody looks on."""


class Display:
    """The line; it is called as whoever watches is, with where the work stands.

    Attributes:
        text: What is being done.
    """

    def __init__(self, text: str) -> None:
        self.text, self.count, self.stands = text, "", ""

    def __call__(self, *stands: Any) -> None:
        if len(stands) == 1 and isinstance(stands[0], Progress):
            self.stands = standing(stands[0])
        else:
            done, total = stands
            self.count, self.stands = f"{done:,} of {total:,} answered", ""

    def begin(self, text: str) -> None:
        """Another thing is being done."""
        self.text, self.count, self.stands = text, "", ""

    def line(self, seconds: float) -> str:
        """What is shown."""
        what = "; ".join(each for each in (self.count, self.stands) if each)
        return (
            f"{self.text}: {what} ({seconds:.0f} s)" if what else f"{self.text} ({seconds:.0f} s)"
        )


def standing(now: Progress) -> str:
    """Both bounds, in a few words."""
    best = "none found yet" if now.upper is None else f"best {now.upper:.4g}"
    return f"{best}, nothing below {now.lower:.4g}"


@contextmanager
def showing(text: str, progress: Wanted) -> Iterator[Callable[..., None] | None]:
    """Who is told where work stands: a function that was given, the line, or nobody.

    Raises:
        DataTypeError: ``progress`` is something else.
    """
    if progress is None:
        progress = interactive()
    if not isinstance(progress, bool):
        if not callable(progress):
            raise DataTypeError(f"progress is a function, True, False or None, not {progress!r}")
        yield progress
        return
    if not progress:
        yield None
        return
    display, over = Display(text), Event()
    thread = Thread(target=_show, args=(display, over), daemon=True)
    thread.start()
    try:
        yield display
    finally:
        over.set()
        thread.join()


def begin(watch: Any, text: str) -> None:
    """Say that another thing is being done, if it is shown."""
    if isinstance(watch, Display):
        watch.begin(text)


def interactive() -> bool:
    """Whether somebody looks on: a notebook, or a session with a prompt on a terminal."""
    return _kernel() or (hasattr(sys, "ps1") and sys.stderr is not None and sys.stderr.isatty())


def _kernel() -> bool:
    """Whether this is a notebook's kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _show(display: Display, over: Event) -> None:
    started = monotonic()
    if over.wait(PATIENCE):
        return
    with _sink() as tell:
        tell(display.line(monotonic() - started))
        while not over.wait(EVERY):
            tell(display.line(monotonic() - started))


@contextmanager
def _sink() -> Iterator[Callable[[str], None]]:
    """Where lines go: a cell's output, a terminal's last line, or now and then to a file."""
    if _kernel():
        from IPython.display import display as show

        handle = show({"text/plain": ""}, raw=True, display_id=True)
        yield lambda line: handle.update({"text/plain": line}, raw=True)
        handle.update({"text/plain": ""}, raw=True)
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield lambda line: status.update(escape(line))
        return
    due = float("-inf")

    def write(line: str) -> None:
        nonlocal due
        if monotonic() >= due:
            due = monotonic() + RARELY
            print(line, file=sys.stderr, flush=True)

    yield write

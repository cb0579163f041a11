"""When work has to end: its time is up, or Ctrl-C was pressed.

Code that starts work says ``until`` when it may go on; whatever takes long calls ``poll`` now and
then, however deep it lies.  Between two calls nothing is broken off, so that compiled code and
solvers never see an interruption that they cannot handle.
"""

from __future__ import annotations

import _thread
import atexit
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

STEP = 0.02
"""Seconds between two looks, for those who wait."""
GRACE = 0.1
"""Seconds that work may take beyond its limit: half of them to find a first answer, the others to
check, tidy or bound what there is."""
LAST = 60.0
"""Seconds that the interpreter waits for work that was left alone."""
LIMIT = "time limit"
"""Why work ended that had no more time."""
INTERRUPTED = "interrupted"
"""Why work ended that was broken off."""
FINE = "what is left is finer than searches tell apart"
"""Why a search ended before its gap was closed, where nothing else ended it."""

Handler = Callable[[int, FrameType | None], object]

_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))
_pressed = False
_task = ""
_raising: list[Handler] = [signal.default_int_handler]
_before: Handler = signal.default_int_handler
_abandoned: list[Thread] = []


class TimeUp(Exception):
    """The time is up."""


class Pressed(KeyboardInterrupt):
    """Ctrl-C was pressed some time ago, and ``poll`` will say so again."""


STOPS = (TimeUp, KeyboardInterrupt)
"""What ends work early; ``reason_of`` says which."""


def reason_of(stop: BaseException) -> str:
    """Why work ended."""
    return LIMIT if isinstance(stop, TimeUp) else INTERRUPTED


def now() -> float:
    """Seconds of the clock that deadlines are on."""
    return time.monotonic()


def poll() -> None:
    """Go on, or not.

    Raises:
        TimeUp: the time is up.
        Pressed: Ctrl-C was pressed.
    """
    if is_pressed():
        raise Pressed
    if now() >= _deadline.get():
        raise TimeUp


def is_over() -> bool:
    """Whether ``poll`` would raise: for work that leaves what it has when it ends."""
    return is_pressed() or now() >= _deadline.get()


def polled(items: Iterable[T], every: int = 256) -> Iterator[T]:
    """The items, with a look at the clock before the first and every so many."""
    for number, item in enumerate(items):
        if not number % every:
            poll()
        yield item


def is_pressed() -> bool:
    """Whether Ctrl-C was pressed since ``listening`` began."""
    return _pressed and threading.current_thread() is threading.main_thread()


def was_pressed() -> bool:
    """The same, for any thread."""
    return _pressed


def left() -> float:
    """Seconds until the time is up."""
    return _deadline.get() - now()


def attend(thread: Thread, cancel: Callable[[], object], seconds: float = float("inf")) -> bool:
    """Wait for a thread; whether it ended.

    Once Ctrl-C was pressed or the time is up, or so many seconds passed, it is cancelled.  What
    does not heed that within ``GRACE`` is left alone, to end when it will.
    """
    end, given_up = now() + seconds, float("inf")
    while thread.is_alive() and now() < given_up:
        thread.join(STEP)
        if given_up == float("inf") and (is_pressed() or min(left(), end - now()) <= 0):
            cancel()
            given_up = now() + GRACE
    if thread.is_alive():
        _abandoned[:] = [*(one for one in _abandoned if one.is_alive()), thread]
    return not thread.is_alive()


@atexit.register
def _see_off() -> None:
    """Let threads that were left alone end before the interpreter does."""
    for thread in _abandoned:
        thread.join(LAST)


def at_least(deadline: float) -> float:
    """The deadline, or one so near that there is time for a first answer."""
    return max(deadline, now() + GRACE / 2)


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Let work go on until then (of ``now``), or until what was said before if that is earlier."""
    token = _deadline.set(min(deadline, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def listening() -> Iterator[None]:
    """Take note of Ctrl-C, for ``poll`` to tell; pressed again, it interrupts at once.

    Only in the main thread, and where the signal would raise ``KeyboardInterrupt``.  The handler
    that was there is put back in the end.
    """
    global _pressed, _before
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    before = next((known for known in _raising if known is handler), None)
    if not main or before is None:
        yield
        return
    _pressed, _before = False, before
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _pressed = False


@contextmanager
def insisting(seconds: Callable[[], float]) -> Iterator[None]:
    """Interrupt what does not end some seconds after ``listening`` took note of Ctrl-C.

    How many is asked at that moment.
    """
    ended = threading.Event()

    def watch() -> None:
        while not (_pressed or ended.wait(STEP)):
            pass
        if not ended.wait(seconds()):
            _thread.interrupt_main()

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def putting_off() -> Iterator[None]:
    """Let Ctrl-C wait, also in processes that are started inside, until ``heeding`` there."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # until Python 3.12, its start lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def heeding(task: str) -> None:
    """Take note of Ctrl-C for all of a task, in a process that works at its parts.

    From then on Ctrl-C no longer ends the process, if this is its main thread.  One that came
    while the process was starting (``putting_off``) is noted now.
    """
    global _pressed, _task
    if threading.current_thread() is not threading.main_thread():
        return
    if task != _task:
        _pressed, _task = False, task
    signal.signal(signal.SIGINT, _keep)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _keep(number: int, frame: FrameType | None) -> None:
    global _pressed
    _pressed = True


def may_wait(handler: Handler) -> Handler:
    """A handler of Ctrl-C that raises ``KeyboardInterrupt``: ``listening`` may stand in for it."""
    _raising.append(handler)
    return handler


def _note(number: int, frame: FrameType | None) -> None:
    global _pressed
    if _pressed:
        _before(number, frame)
    _pressed = True


class Span:
    """The time for one counterfactual.

    Attributes:
        deadline: When its limit is up, counted from ``started`` (of ``now``; by default now).
    """

    def __init__(self, limit: float, started: float | None = None) -> None:
        self.started = now() if started is None else started
        self.deadline = self.started + limit
        self._spent: float | None = None

    @property
    def left(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(self.deadline - now(), 0.0)

    @property
    def seconds(self) -> float:
        """Seconds since it began, or until its end."""
        return now() - self.started if self._spent is None else self._spent

    def end(self) -> None:
        """Whatever comes now is no part of it."""
        self._spent = self.seconds

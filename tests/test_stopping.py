"""One clock for limits, and Ctrl-C that is noted and taken up later."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from cfxc import stopping
from cfxc.cli import interrupts
from cfxc.stopping import Pressed, TimeUp, attend, insisting, listening, now, poll, polled, until


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def idle(seconds: float) -> None:
    for _ in range(int(100 * seconds)):
        time.sleep(0.01)


def test_the_earliest_deadline_counts() -> None:
    poll()
    with until(now() + 60):
        poll()
        with until(now() - 1), pytest.raises(TimeUp):
            poll()
        with until(now() + 1000):
            assert stopping.left() < 61
        poll()


def test_items_are_looked_at_until_the_time_is_up() -> None:
    items = polled(range(10), 4)
    assert [next(items), next(items)] == [0, 1]
    with until(0.0):
        assert [next(items), next(items)] == [2, 3]
        with pytest.raises(TimeUp):
            next(items)


def test_ctrl_c_is_noted_and_the_second_one_interrupts() -> None:
    with listening():
        press()
        for _ in range(2):  # as often as it is asked
            with pytest.raises(Pressed):
                poll()
        with pytest.raises(KeyboardInterrupt) as caught:
            press()
        assert caught.type is KeyboardInterrupt
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    poll()


def test_it_stands_in_for_a_handler_that_raises() -> None:
    """That of the command line, which notes that Ctrl-C came: searches end by themselves there."""
    with interrupts.heard():
        handler = signal.getsignal(signal.SIGINT)
        with listening():
            press()
            with pytest.raises(Pressed):
                poll()
            assert not interrupts.came()
            with pytest.raises(KeyboardInterrupt):
                press()
            assert interrupts.came()
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_and_other_handlers_are_left_alone() -> None:
    with listening():
        press()
        heard: list[bool] = []
        thread = threading.Thread(target=lambda: heard.append(stopping.is_pressed()))
        thread.start()
        thread.join()
        assert heard == [False]
    mine = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with listening():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, mine)


@pytest.mark.parametrize("heeds", [True, False])
def test_a_thread_is_cancelled_and_left_alone_if_it_does_not_heed_that(heeds: bool) -> None:
    cancelled, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=(cancelled if heeds else end).wait, daemon=True)
    thread.start()
    with until(now() + 0.05):
        assert attend(thread, cancelled.set) is heeds
    assert cancelled.is_set()
    assert (thread in stopping._abandoned) is not heeds
    end.set()


def test_what_does_not_heed_ctrl_c_is_interrupted() -> None:
    """After so long as is said when it is pressed, not when it began."""
    seconds = 600.0
    with listening(), insisting(lambda: seconds):
        seconds = 0.01
        press()
        with pytest.raises(KeyboardInterrupt):
            idle(60)

"""The processes that search: at most so many at once, each job with an end."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from ..stopping import now
from .site import Files
from .worker import KEPT

WAITING = 8
"""Jobs that may wait for a free process."""
HEEDS = 2.0
"""Seconds within which a search ends that is told to; then its process is ended."""
SLACK = 5.0
"""Seconds beyond its limit after which a job's process is ended."""
LOOKS, BEAT = 0.1, 1.0
"""Seconds between two looks for a free process, and between two signs of life."""
LONGEST = 2**26
"""Bytes of a line of a worker."""
STARTS = 120.0
"""Seconds within which a process has read the model."""

Message = dict[str, Any]


class Busy(Exception):
    """So many jobs wait already that no other may."""


class Gone(Exception):
    """The process that had the answer has ended, and the answer with it."""


class Failed(Exception):
    """A process did not start; the message says why."""


class Process:
    """One process, started when it is needed, and again after it was ended."""

    def __init__(self, files: Files, digest: str) -> None:
        self.files, self.digest = files, digest
        self.busy, self.keeps = False, deque[str](maxlen=KEPT)
        self.take("")
        self._process: asyncio.subprocess.Process | None = None
        self._killed: asyncio.subprocess.Process | None = None

    @property
    def is_running(self) -> bool:
        """Whether it takes jobs."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """Its number."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Have it running with the model read.

        Raises:
            Failed: it did not start, or the files say something else by now.
        """
        if self.is_running:
            return
        self.keeps.clear()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "cfxc.web.worker", stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, limit=LONGEST, start_new_session=True,
        )  # fmt: skip
        try:
            await self.send(asdict(self.files))
            first = await asyncio.wait_for(self.receive(), STARTS)
        except TimeoutError as error:
            await self.end()
            raise Failed("reading the model took too long; start the server again") from error
        if first.get("ready") != self.digest:
            await self.end()
            changed = "the model or its space has changed since the server began: start it again"
            raise Failed(first.get("error", changed))

    async def send(self, job: Mapping[str, Any]) -> None:
        """Give it a job."""
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # what it says next tells
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            await self._process.stdin.drain()

    async def receive(self) -> Message:
        """The next message; an error if it has ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            await self.end()
            return {"error": "the search ended by itself, perhaps for want of memory; ask again"}
        message: Message = json.loads(line)
        if "begun" in message:
            self.hears = True
            self._interrupt()
        return message

    async def call_off(self) -> None:
        """End its job, the process too if the job does not heed."""
        if not self.is_running:
            return
        self.stop()
        try:
            async with asyncio.timeout(HEEDS):
                while not _is_last(await self.receive()):
                    pass
        except TimeoutError:
            await self.end()

    def take(self, answer: str) -> None:
        """Whatever it is told from now on is about this answer, or about none."""
        self.doing, self.hears, self.told = answer, False, False

    def stop(self) -> None:
        """Tell its job to end with what it has, once, as soon as the job hears."""
        if not self.told:
            self.told = True
            self._interrupt()

    def _interrupt(self) -> None:
        process = self._process
        if self.told and self.hears and process not in (None, self._killed):
            with suppress(ProcessLookupError, ValueError):
                process.send_signal(signal.SIGINT)

    async def end(self) -> None:
        """End the process."""
        self.keeps.clear()
        process = self._process
        if process is None:
            return
        if process is not self._killed:  # a second signal may reap what asyncio waits for
            self._killed = process
            with suppress(ProcessLookupError):
                process.kill()
        await process.wait()


class Pool:
    """So many processes, and who waits for one."""

    def __init__(self, files: Files, digest: str, size: int) -> None:
        self.processes = [Process(files, digest) for _ in range(size)]
        self._line = list[object]()
        self._settling = set[asyncio.Task[None]]()

    async def run(self, job: Message, seconds: float) -> AsyncGenerator[Message]:
        """What comes of a job: ``waiting``, ``progress``, at last ``done`` or ``error``.

        ``alive`` comes in between, so that whoever passes it on sees that nobody listens any more.
        Whoever closes the iterator early calls the job off.

        Raises:
            Busy: too many wait already.
            Gone: the job is about an answer that is no longer kept.
        """
        ticket = object()
        process = self._free(job, ticket)
        if process is None and len(self._line) >= WAITING:
            raise Busy
        self._line.append(ticket)
        try:
            while process is None:
                yield {"waiting": 1 + self._line.index(ticket)}
                await asyncio.sleep(LOOKS)
                process = self._free(job, ticket)
        finally:
            self._line.remove(ticket)
        async for message in self._worked(process, job, seconds):
            yield message

    def _free(self, job: Message, ticket: object) -> Process | None:
        """A process for the job, busy from then on; who came first goes first."""
        known = self.processes
        if job["do"] != "explain":
            known = [p for p in self.processes if p.is_running and job["id"] in p.keeps]
            if not known:
                raise Gone
        elif self._line and self._line[0] is not ticket:
            return None
        free = next((each for each in known if not each.busy), None)
        if free is not None:
            free.busy = True
        return free

    async def _worked(
        self, process: Process, job: Message, seconds: float
    ) -> AsyncGenerator[Message]:
        finished = False
        try:
            process.take(job["id"])
            if not process.is_running:
                yield {"starting": True}
                await process.start()
            await process.send({**job, "seconds": seconds})
            end = now() + seconds + SLACK
            while not finished:
                message = await self._next(process, end)
                finished = _is_last(message)
                if "done" in message and job["do"] == "explain":
                    process.keeps.append(job["id"])
                yield message
        except Failed as error:
            finished = True
            yield {"error": str(error)}
        finally:
            task = asyncio.create_task(self._settle(process, finished))
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)

    async def _next(self, process: Process, end: float) -> Message:
        try:
            async with asyncio.timeout(BEAT):
                return await process.receive()
        except TimeoutError:
            if now() < end:
                return {"alive": True}
            await process.end()
            return {"error": "stopped: it did not end at its time limit; ask a narrower question"}

    async def _settle(self, process: Process, finished: bool) -> None:
        if not finished:
            await process.call_off()
        process.take("")
        process.busy = False

    def stop(self, answer: str) -> None:
        """Have a search end with what it has."""
        for each in self.processes:
            if each.doing == answer:
                each.stop()

    async def warm(self) -> None:
        """Start the first process before anybody asks."""
        process = self.processes[0]
        if not process.busy:
            process.busy = True
            with suppress(Failed):
                await process.start()
            process.busy = False

    async def close(self) -> None:
        """End all processes."""
        for each in self.processes:
            await each.end()


def _is_last(message: Message) -> bool:
    return "done" in message or "error" in message

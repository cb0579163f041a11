"""The page over small models, served in this process or by the command, and who asks it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from cfxc.web.app import App
from cfxc.web.guard import Sessions
from cfxc.web.pool import Pool
from cfxc.web.site import Files, Site

SCRIPT = "<script>document.title='owned'</script>"
"""A feature's name and a category that no page may take for more than a text."""
FORMULA = '=HYPERLINK("http://x","y")'
STARTS = 120
HOSTS = frozenset(["127.0.0.1", "localhost", "::1"])


def files(folder: Path, name: str, *, data: bool = True, **more: Any) -> Files:
    table = str(folder / f"{name}.csv") if data else None
    return Files(str(model_in(folder, name)), str(folder / f"{name}.toml"), table, **more)


def model_in(folder: Path, name: str) -> Path:
    """The file of a model: one in ONNX is read soonest."""
    onnx = folder / f"{name}.onnx"
    return onnx if onnx.exists() else folder / f"{name}.skops"


@dataclass(frozen=True)
class Said:
    """What a server answered."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.content.splitlines()]


class Client:
    """Asks a server, as a browser does that has opened the address with the key."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.headers = port, dict[str, str]()
        if key:
            opened = self.get(f"/?key={key}")
            assert opened.status == 200, opened
            self.headers["cookie"] = opened.headers["set-cookie"].partition(";")[0]
            self.headers["x-cfxc-token"] = self.get("/api/model").json["token"]

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Said:
        """One request, its path as it is; headers in place of those that a page sends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=STARTS)
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            return Said(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Said:
        return self.request(
            "GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )

    def ask(self, path: str, body: Any, **headers: str) -> Said:
        sent = {"content-type": "application/json", **headers}
        return self.request("POST", path, json.dumps(body).encode(), sent)

    def answer(self, body: Any) -> dict[str, Any]:
        """The last message of a search."""
        said = self.ask("/api/explain", body)
        assert said.status == 200, said.content
        return said.lines[-1]


@dataclass(frozen=True)
class Opened:
    """A server in this process."""

    port: int
    key: str
    pool: Pool
    folder: Callable[[], Path]

    def client(self) -> Client:
        return Client(self.port, self.key)


@contextmanager
def opened(site: Site, *, seconds: float = 20.0, jobs: int = 2) -> Iterator[Opened]:
    """The page over a site, served in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        sessions = Sessions(f"cfxc-{port}")
        app = App(site, sessions, HOSTS, seconds, jobs)
        server = uvicorn.Server(
            uvicorn.Config(app.asgi(), log_level="error", timeout_graceful_shutdown=1)
        )
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_for(lambda: server.started, STARTS)
            yield Opened(port, sessions.key, app.pool, lambda: app.folder)
        finally:
            server.should_exit = True
            thread.join(STARTS)


def wait_for(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """What the condition says as soon as it is true."""
    end = monotonic() + seconds
    while not (found := condition()):
        assert monotonic() < end, "it never came"
        sleep(0.05)
    return found


class Served:
    """``cfxc serve`` as users run it."""

    def __init__(self, folder: Path, name: str, *options: str, data: bool = True) -> None:
        words = [model_in(folder, name).name, "--space", f"{name}.toml", "--port", "0", *options]
        words += ["--data", f"{name}.csv"] * data
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cfxc", "serve", *words], cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "http" in line, (line, self.process.communicate(timeout=STARTS))
        self.address = line.split()[-1]
        self.port = urlsplit(self.address).port

    def end(self) -> tuple[int, str]:
        """Ctrl-C; the exit code, and what was said on stderr."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said

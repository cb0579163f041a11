"""The server: an address on this machine, unless another one was named, until Ctrl-C."""

from __future__ import annotations

import logging
import socket
import sys
import webbrowser
from asyncio import CancelledError
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address

from ..errors import InvalidInputError, needs
from .site import Files

LOOPBACK = ("127.0.0.1", "localhost", "::1")
AT_ONCE = 64
"""Connections that are answered at once."""


def serve(
    files: Files,
    host: str,
    port: int,
    allowed: Sequence[str],
    seconds: float,
    jobs: int,
    open_browser: bool,
) -> None:
    """Serve the page until Ctrl-C."""
    with needs("web", "cfxc serve"):
        import starlette  # noqa: F401  # is it there?
        import uvicorn
    hosts = hosts_of(host, allowed)
    listening = _listening(host, port)
    with listening:
        from .app import App
        from .guard import Sessions

        port = listening.getsockname()[1]
        sessions = Sessions(f"cfxc-{port}")
        app = App(files.load(), sessions, hosts, seconds, jobs).asgi()
        shown = host if host not in ("0.0.0.0", "::") else next(iter(allowed))
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/?key={sessions.key}"
        config = uvicorn.Config(
            app, log_level="error", access_log=False, server_header=False, ws="none",
            limit_concurrency=AT_ONCE, timeout_keep_alive=5, timeout_graceful_shutdown=1,
        )  # fmt: skip
        logging.getLogger("uvicorn.error").addFilter(_says_more)
        print(f"the page: {address}", flush=True)
        print("Ctrl-C ends it", file=sys.stderr, flush=True)
        if open_browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):  # which is how it ends
            uvicorn.Server(config).run(sockets=[listening])


def _says_more(record: logging.LogRecord) -> bool:
    """Whether it says more than that the server's end breaks a request off."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, CancelledError) or "graceful shutdown" in record.getMessage())


def hosts_of(host: str, allowed: Sequence[str]) -> frozenset[str]:
    """What the server may be called in an address."""
    if is_loopback(host):
        return frozenset((*LOOPBACK, *(name.lower() for name in allowed)))
    if not allowed:
        raise InvalidInputError(
            f"--host {host}: other machines can reach the page then; say what they call this one, "
            f"such as --allow-host {socket.gethostname() or 'NAME'}"
        )
    print(
        f"warning: whoever reaches {host} and has the address with its key sees the model and the "
        "table, unencrypted; put a server with TLS before it",
        file=sys.stderr,
    )
    return frozenset(name.lower() for name in allowed)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    """A socket at the address."""
    if not 0 <= port < 2**16:
        raise InvalidInputError(f"--port {port}: a port is from 0, for any that is free, to 65535")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (while")[0]
        raise InvalidInputError(
            f"cannot listen on {host}, port {port}: {why}; take another one, or --port 0 for any"
        ) from error

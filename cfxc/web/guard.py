"""Who may ask: the host that is asked for, the origin, the session, and how much is sent."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 2**16
"""Bytes of what a page sends."""
SESSIONS = 1000
"""Browsers that are known at once; the one that came first is forgotten."""
ANSWERS = 64
"""Answers of a session that it may still have made into letters."""
TOKEN = "x-cfxc-token"
OPEN = "/static/"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""Of every response: the page runs its own script alone, and no other page shows it."""


@dataclass
class Session:
    """One browser that opened the address with the key.

    Attributes:
        token: What its page sends with every question, which no other site's page can read.
        answers: The ids of its answers.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    answers: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def keep(self, answer: str) -> None:
        """Remember that an answer is this session's."""
        self.answers[answer] = None
        while len(self.answers) > ANSWERS:
            self.answers.popitem(last=False)


class Sessions:
    """The browsers that are let in, and the key that lets one in."""

    def __init__(self, cookie: str) -> None:
        self.cookie, self.key = cookie, secrets.token_urlsafe(16)
        self._known: OrderedDict[str, Session] = OrderedDict()

    def of(self, connection: HTTPConnection) -> Session | None:
        """The session that a browser's cookie names."""
        return self._known.get(connection.cookies.get(self.cookie, ""))

    def opens(self, key: str) -> bool:
        """Whether this is the key."""
        return secrets.compare_digest(key.encode(), self.key.encode())

    def begin(self, response: Response) -> None:
        """Let a browser in from now on."""
        name = secrets.token_urlsafe(32)
        self._known[name] = Session()
        while len(self._known) > SESSIONS:
            self._known.popitem(last=False)
        response.set_cookie(self.cookie, name, httponly=True, samesite="strict")


class Guard:
    """Refuses what does not come from the page itself, before anything reads it."""

    def __init__(self, app: ASGIApp, sessions: Sessions, hosts: frozenset[str]) -> None:
        self.app, self.sessions, self.hosts = app, sessions, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks websockets

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self.app)(scope, receive, sent)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, path = Headers(scope=scope), scope["path"]
        if not is_host(headers.get("host", ""), self.hosts):
            return PlainTextResponse("this server is not called that (--allow-host)\n", 421)
        if path.startswith(OPEN) or path == "/":
            return None
        session = self.sessions.of(HTTPConnection(scope))
        if session is None:
            return _refused(401, "open the address that cfxc serve printed, with its key")
        scope["session_known"] = session
        return self._of_question(headers, session) if scope["method"] == "POST" else None

    def _of_question(self, headers: Mapping[str, str], session: Session) -> Response | None:
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            return _refused(403, "this was sent by another page")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return _refused(403, "this was sent by another page")
        token = headers.get(TOKEN, "")
        if not secrets.compare_digest(token.encode(), session.token.encode()):
            return _refused(403, "the page is of an earlier start: reload it")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refused(415, "questions are JSON")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdecimal() or int(length[:20]) > LARGEST:
            return _refused(413, f"a question has at most {LARGEST} bytes")
        return None


def is_host(given: str, allowed: frozenset[str]) -> bool:
    """Whether a Host header names this server; its port is the browser's business."""
    try:
        name = urlsplit(f"//{given}").hostname
    except ValueError:
        return False
    return name is not None and "@" not in given and name in allowed


def _refused(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status)

"""The routes of the page, and what they answer."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ..errors import CfxcError
from ..show.letters.page import check_kind
from ..show.letters.words import LANGUAGES
from .asking import FieldErrors, read_asked, read_fields
from .guard import LARGEST, Guard, Session, Sessions
from .pool import Busy, Gone, Pool
from .site import Site
from .views import model_view, outcome_text, people_view, point_view
from .worker import FAULT, GONE

T = TypeVar("T")

PAGE = Path(__file__).parent / "static"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MOST_ROWS = 5000
"""Rows of the table whose outcomes are shown before one is picked."""
SLOWEST = 10.0
"""Seconds within which a question has arrived."""
BUSY = "all searches are taken, and many wait; try again in a minute"


class App:
    """The page of one site: its routes, its processes, and who was let in.

    Args:
        hosts: What the server may be called in the address.
        most_seconds: What a search, a letter or a certificate may take.
        jobs: How many searches may run at once.
    """

    def __init__(
        self, site: Site, sessions: Sessions, hosts: frozenset[str], most_seconds: float, jobs: int
    ) -> None:
        self.site, self.sessions, self.most_seconds = site, sessions, most_seconds
        self.pool = Pool(site.files, site.digest, jobs)
        self._files = {path.name: path.read_bytes() for path in PAGE.iterdir() if path.is_file()}
        self._hosts, self.folder = hosts, Path()
        self._outcomes: list[str] | None = None
        self._model = model_view(site) | {"seconds": most_seconds, **_letters()}

    def asgi(self) -> Starlette:
        """The application to serve."""
        routes = [
            Route("/", self.page),
            Route("/static/{name}", self.static),
            Route("/api/model", self.model),
            Route("/api/people", self.people),
            Route("/api/people/{row:int}", self.person),
            Route("/api/outcome", self.outcome, methods=["POST"]),
            Route("/api/explain", self.explain, methods=["POST"]),
            Route("/api/stop", self.stop, methods=["POST"]),
            Route("/api/letter", self.letter, methods=["POST"]),
            Route("/api/certificate", self.certificate, methods=["POST"]),
        ]
        guard = Middleware(Guard, sessions=self.sessions, hosts=self._hosts)
        handlers: Any = {CfxcError: _wrong, HTTPException: _refused, Exception: _fault}
        return Starlette(
            routes=routes, middleware=[guard], exception_handlers=handlers, lifespan=self._life
        )

    @asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        self._alone = CapacityLimiter(1)  # models are not made for several threads
        with TemporaryDirectory(prefix="cfxc-") as folder:
            self.folder = Path(folder)
            begun = [asyncio.create_task(each) for each in (self.pool.warm(), self._ask_of_all())]
            try:
                yield
            finally:
                for task in begun:
                    task.cancel()
                await self.pool.close()

    async def _ask_of_all(self) -> None:
        people = self.site.people
        if people is None or not 0 < len(people) <= MOST_ROWS:
            return
        try:
            found = await self._thread(lambda: self.site.model.predict(people))
            self._outcomes = [outcome_text(each) for each in found]
        except CfxcError:  # of a row that the model does not take: each is asked when it is picked
            return

    async def _thread(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._alone)

    async def page(self, request: Request) -> Response:
        """The page itself, for who has the key or was let in before."""
        key = request.query_params.get("key", "")
        if self.sessions.of(request) is None and not self.sessions.opens(key):
            return Response(self._files["closed.html"], 401, media_type="text/html")
        response = Response(self._files["index.html"], media_type="text/html")
        if self.sessions.of(request) is None:
            self.sessions.begin(response)
        return response

    async def static(self, request: Request) -> Response:
        """A file that belongs to the page."""
        name = request.path_params["name"]
        if name not in self._files or name.endswith(".html"):
            raise HTTPException(404)
        return Response(self._files[name], media_type=KINDS[Path(name).suffix])

    async def model(self, request: Request) -> Response:
        """The model, and the token that questions carry."""
        return JSONResponse({**self._model, "token": _session(request).token})

    async def people(self, request: Request) -> Response:
        """The rows of the table."""
        if self.site.people is None:
            raise HTTPException(404)
        return JSONResponse(people_view(self.site, self._outcomes))

    async def person(self, request: Request) -> Response:
        """One row of the table, as the fields hold it, and its outcome."""
        people, row = self.site.people, request.path_params["row"]
        if row in self.site.wrong:
            raise HTTPException(422, self.site.wrong[row])
        if people is None or row not in people.index:
            raise HTTPException(404)
        frame = people.loc[[row]]
        fields = await self._thread(lambda: point_view(self.site, frame))
        return JSONResponse({"fields": fields})

    async def outcome(self, request: Request) -> Response:
        """What the deployed model says of the fields."""
        given = await _body(request)
        frame = await self._thread(lambda: read_fields(self.site, given.get("fields")))
        found = await self._thread(lambda: self.site.model.predict(frame)[0])
        return JSONResponse({"outcome": outcome_text(found)})

    async def explain(self, request: Request) -> Response:
        """The nearest changes: lines of JSON, with the bounds while the search goes on."""
        given, session = await _body(request), _session(request)
        asked = await self._thread(lambda: read_asked(self.site, given, self.most_seconds))
        answer = secrets.token_urlsafe(16)
        session.keep(answer)
        job = {"do": "explain", "id": answer, "question": given}
        seconds = asked.question.time_limit * asked.question.count
        return StreamingResponse(self._lines(job, seconds), media_type="application/x-ndjson")

    async def _lines(self, job: dict[str, Any], seconds: float) -> AsyncIterator[str]:
        try:
            async with aclosing(self.pool.run(job, seconds)) as messages:
                async for message in messages:
                    yield json.dumps({**message, "id": job["id"]}) + "\n"
        except Busy:
            yield json.dumps({"error": BUSY}) + "\n"

    async def stop(self, request: Request) -> Response:
        """End a search, which answers with what it has."""
        given = await _body(request)
        answer = given.get("id")
        if isinstance(answer, str) and answer in _session(request).answers:
            self.pool.stop(answer)
        return JSONResponse({})

    async def letter(self, request: Request) -> Response:
        """A letter about an answer, to keep."""
        given = await _body(request)
        kind, locale = given.get("kind"), given.get("locale", "en")
        if kind not in ("html", "pdf") or locale not in LANGUAGES:
            raise HTTPException(422, "a letter is html or pdf, in a language of the list")
        check_kind(f"letter.{kind}")
        job = {"do": "letter", "id": given.get("id"), "locale": locale}
        return await self._file(request, job, f"letter.{kind}")

    async def certificate(self, request: Request) -> Response:
        """The certificate of one of the counterfactuals of an answer, to keep."""
        given = await _body(request)
        number = given.get("number", 1)
        if type(number) is not int or number < 1:
            raise HTTPException(422, "a certificate is of answer 1, 2 …")
        job = {"do": "certificate", "id": given.get("id"), "number": number}
        return await self._file(request, job, "certificate.json")

    async def _file(self, request: Request, job: dict[str, Any], name: str) -> Response:
        """What a job writes into the server's own folder; it is deleted when it was sent."""
        if not isinstance(job["id"], str) or job["id"] not in _session(request).answers:
            raise HTTPException(410, GONE)
        path = self.folder / f"{secrets.token_hex(16)}{Path(name).suffix}"
        last: dict[str, Any] = {}
        try:
            async for message in self.pool.run({**job, "path": str(path)}, self.most_seconds):
                last = message
        except (Busy, Gone) as error:
            why, status = (BUSY, 503) if isinstance(error, Busy) else (GONE, 410)
            raise HTTPException(status, why) from error
        if "error" in last:
            path.unlink(missing_ok=True)
            raise HTTPException(422, last["error"])
        gone = BackgroundTask(path.unlink, missing_ok=True)
        told = {"x-cfxc-lacks": quote(last.get("done", {}).get("lacks", ""))}
        return FileResponse(path, filename=name, headers=told, background=gone)


def _letters() -> dict[str, Any]:
    """Which letters can be had here, and why not the others."""
    found, missing = list[str](), dict[str, str]()
    for kind in ("html", "pdf"):
        try:
            check_kind(f"letter.{kind}")
            found.append(kind)
        except CfxcError as error:
            missing[kind] = str(error)
    return {"letters": found, "no_letters": missing, "locales": list(LANGUAGES)}


def _session(request: Request) -> Session:
    session: Session = request.scope["session_known"]
    return session


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object that a page sent.

    Raises:
        HTTPException: it is too long or too slow, or none.
    """
    content = bytearray()
    try:
        async with asyncio.timeout(SLOWEST):
            async for part in request.stream():
                content += part
                if len(content) > LARGEST:
                    raise HTTPException(413, f"a question has at most {LARGEST} bytes")
        given = json.loads(content.decode("utf-8"))
    except (TimeoutError, ClientDisconnect) as error:
        raise HTTPException(408, "the question did not arrive in time") from error
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "a question is one object in JSON") from error
    if not isinstance(given, dict):
        raise HTTPException(400, "a question is one object in JSON")
    return given


async def _wrong(request: Request, error: Exception) -> Response:
    where = error.where if isinstance(error, FieldErrors) else {}
    return JSONResponse({"error": str(error), "where": where}, 422)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


async def _fault(request: Request, error: Exception) -> Response:
    print(f"cfxc: internal error: {type(error).__name__}: {error}", file=sys.stderr)
    return JSONResponse({"error": FAULT}, 500)

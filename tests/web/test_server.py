"""Who may ask, how much, and what comes of two who ask at once; attacks come first."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import cfxc
from cfxc.errors import InvalidInputError
from cfxc.web.guard import LARGEST, is_host
from cfxc.web.server import hosts_of
from cfxc.web.site import Site
from tests.web.pages import FORMULA, HOSTS, SCRIPT, Client, Opened, files, opened, wait_for

FIELDS = {"age": "30", "pay gap": "20.5", "sector": 0}
ASKED: dict[str, Any] = {"fields": FIELDS, "target": "yes", "distance": "l1", "seconds": 10}
MOST = 30.0
POSTS = ("outcome", "explain", "stop", "letter", "certificate")


@pytest.fixture(scope="module")
def hard(folder: Path) -> Iterator[Opened]:
    """A model whose searches take long, with both of its processes ready."""
    with opened(files(folder, "hard").load(), seconds=MOST) as server:
        quick = {**_hard(server.client()), "seconds": 0.1}
        with ThreadPoolExecutor(2) as threads:
            clients = [server.client() for _ in range(2)]
            list(threads.map(lambda client: client.answer(quick), clients))
        yield server


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil@127.0.0.1", "", "[::1", "127.0.0.2"]
)
def test_other_hosts_are_refused(client: Client, host: str) -> None:
    """A name that somebody points to this machine opens no page (DNS rebinding)."""
    for path in ("/", "/api/model", "/static/page.js"):
        assert client.get(path, host=host).status == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "[::1]:9", "127.0.0.1:1"])
def test_this_machine_has_several_names(host: str) -> None:
    assert is_host(host, HOSTS)


def test_nobody_comes_in_without_the_key(server: Opened) -> None:
    stranger = Client(server.port, "")
    for path in ("/", "/?key=", "/?key=wrong", f"/?key={server.key[:-1]}", "/?key=%00%ff"):
        said = stranger.get(path)
        assert said.status == 401
        assert b"page.js" not in said.content
        assert said.headers["set-cookie"] is None
    for path in ("/api/model", "/api/people", "/api/people/0", "/api/nothing"):
        assert stranger.get(path).status == 401
    for path in POSTS:
        assert stranger.ask(f"/api/{path}", ASKED).status == 401


@pytest.mark.parametrize("path", POSTS)
def test_other_pages_cannot_ask(client: Client, path: str) -> None:
    """With the cookie, but without what only the page itself knows and browsers tell of it."""
    attacks = [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"http://127.0.0.1:{client.port + 1}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"x-cfxc-token": ""},
        {"x-cfxc-token": "guess"},
        {"x-cfxc-token": "\xff"},
    ]
    for headers in attacks:
        assert client.ask(f"/api/{path}", ASKED, **headers).status == 403, headers
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert client.ask(f"/api/{path}", ASKED, **{"content-type": kind}).status == 415


def test_the_page_itself_can_ask(client: Client) -> None:
    own = {"origin": f"http://127.0.0.1:{client.port}", "sec-fetch-site": "same-origin"}
    assert client.ask("/api/outcome", {"fields": FIELDS}, **own).json == {"outcome": "no"}


def test_the_cookie_is_for_this_page_alone(server: Opened) -> None:
    cookie = Client(server.port, "").get(f"/?key={server.key}").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_every_response_says_what_a_browser_may_do(client: Client) -> None:
    for path in ("/", "/static/page.js", "/api/model", "/api/nothing", "/nothing"):
        headers = client.get(path).headers
        assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["access-control-allow-origin"] is None


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static//etc/passwd",
        "/static/..\\app.py", "/static/index.html", "/static/", "/static/page.js%00", "/../app.py",
        "/static/%2e%2e%2f%2e%2e%2fpyproject.toml", "/api/people/../../app.py", "/api/people/1e3",
        "/api/people/-1", "/api/people/999999999999999999999999", "/api/people/%31%00",
    ],
)  # fmt: skip
def test_no_other_file_is_served(client: Client, path: str) -> None:
    said = client.get(path)
    assert said.status in (400, 404)
    assert b"import" not in said.content
    assert b"root:" not in said.content


def test_the_page_needs_nothing_from_elsewhere(client: Client) -> None:
    """No address of another server, no style or script within the page."""
    page = client.get("/").content.decode()
    names = ["page.css", *(f"{name}.js" for name in ("page", "form", "answer", "api")), "icon.svg"]
    for name in names:
        said = client.get(f"/static/{name}")
        assert said.status == 200
        page += said.content.decode()
    assert page.count("http://") == page.count("http://www.w3.org/2000/svg")
    assert "https://" not in page
    odd_ones = ("<style", "style=", "innerHTML", "outerHTML", "insertAdjacent", "eval(", "onclick=")
    for odd in odd_ones:
        assert odd not in page


def test_large_questions_are_refused(client: Client) -> None:
    body = {**ASKED, "conditions": ["a" * LARGEST]}
    assert client.ask("/api/explain", body).status == 413
    for length in ("-1", "1e9", "9" * 400):
        said = client.request(
            "POST",
            "/api/outcome",
            None,
            {"content-type": "application/json", "content-length": length},
        )
        assert said.status in (400, 413)


def test_a_length_that_is_not_said_is_counted(client: Client) -> None:
    """Chunks without end: the connection is answered before they end."""
    lines = [
        "POST /api/outcome HTTP/1.1", f"host: 127.0.0.1:{client.port}",
        "content-type: application/json", "transfer-encoding: chunked",
        *(f"{name}: {value}" for name, value in client.headers.items()),
    ]  # fmt: skip
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as raw:
        raw.sendall("\r\n".join([*lines, "", ""]).encode())
        for _ in range(2 * LARGEST // 4096):
            raw.sendall(b"1000\r\n" + b" " * 4096 + b"\r\n")
        assert b"413" in raw.recv(4096)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 60000, b'{"fields": NaN}',
        b'{"fields": {"age": 1' + b"0" * 5000 + b"}}", b'{"fields": {"__proto__": 1}}',
        b'{"fields": {"age": {"a": 1}, "pay gap": [], "sector": "0"}}',
    ],
)  # fmt: skip
def test_what_is_no_question_is_refused(client: Client, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    for path in ("/api/outcome", "/api/explain"):
        said = client.request("POST", path, body, headers)
        assert said.status in (400, 422), said
        assert said.json["error"]
        assert "Traceback" not in said.content.decode()


def test_errors_stand_beside_their_fields(client: Client) -> None:
    said = client.ask("/api/explain", {**ASKED, "fields": {**FIELDS, "age": "old", "sector": 9}})
    assert said.status == 422
    assert set(said.json["where"]) == {"age", "sector"}


def test_errors_of_searches_reach_the_page(client: Client) -> None:
    """A condition is read where it is compiled, in the process that searches."""
    last = client.answer({**ASKED, "conditions": ["ages > 3"]})
    assert "ages" in last["error"]
    last = client.answer({**ASKED, "conditions": ["__import__('os').system('id')"]})
    assert "error" in last


def test_an_answer_and_what_can_be_kept_of_it(client: Client, tmp_path: Path) -> None:
    last = client.answer(ASKED)
    done = last["done"]
    assert done["status"] == "optimal"
    assert done["proof"][0].startswith("Proved: nothing nearer exists")
    (answer,) = done["answers"]
    assert client.ask("/api/outcome", {"fields": answer["point"]}).json == {"outcome": "yes"}
    certificate = client.ask("/api/certificate", {"id": last["id"]})
    assert certificate.headers["content-disposition"].startswith("attachment")
    path = tmp_path / "certificate.json"
    path.write_bytes(certificate.content)
    assert cfxc.check(path).ok
    for number in (0, 2, True, "1", None):
        assert client.ask("/api/certificate", {"id": last["id"], "number": number}).status == 422
    letter = client.ask("/api/letter", {"id": last["id"], "kind": "html", "locale": "de"})
    assert letter.status == 200, letter
    assert b'lang="de"' in letter.content
    assert client.ask("/api/letter", {"id": last["id"], "kind": "exe"}).status == 422
    assert (
        client.ask("/api/letter", {"id": last["id"], "kind": "pdf", "locale": "../x"}).status == 422
    )


def test_nobody_has_the_answers_of_another(server: Opened) -> None:
    one, other = server.client(), server.client()
    answer = one.answer(ASKED)["id"]
    for path in ("certificate", "letter"):
        body = {"id": answer, "kind": "html"}
        assert other.ask(f"/api/{path}", body).status == 410
        assert other.ask(f"/api/{path}", {**body, "id": "../../x"}).status == 410
        assert other.ask(f"/api/{path}", {"kind": "html"}).status == 410
        assert other.ask(f"/api/{path}", {**body, "id": ["a"]}).status == 410
    assert one.ask("/api/certificate", {"id": answer}).status == 200


def test_infeasible_with_its_reason(client: Client) -> None:
    moves = {"age": "fixed", "pay gap": "fixed", "sector": "fixed"}
    done = client.answer({**ASKED, "moves": moves})["done"]
    assert done["status"] == "infeasible"
    assert done["rules"]
    assert set(done["rules"]) <= {f"{n} may not change" for n in ("age", "gap in pay", "sector")}
    assert done["relaxed"]["changes"]


def test_unchanged_says_so(client: Client) -> None:
    done = client.answer({**ASKED, "fields": {**FIELDS, "age": "79", "pay gap": "50"}})
    assert "already" in str(done)


def test_rows_that_cannot_be_picked_say_why(folder: Path) -> None:
    path = folder / "odd.csv"
    path.write_text("age,pay gap,sector\n30,20.5,it\nold,20,it\n31,20,space\n")
    with opened(replace(files(folder, "tree"), data=str(path)).load()) as server:
        client = server.client()
        people = client.get("/api/people").json
        assert people["rows"] == [0, 2]
        assert "age" in people["wrong"]["1"]
        assert client.get("/api/people/0").json["fields"]["age"] == "30"
        assert client.get("/api/people/1").status == 422
        assert "space" in client.get("/api/people/2").json["error"]


def test_hostile_names_stay_texts(folder: Path) -> None:
    with opened(files(folder, "hostile").load()) as server:
        client = server.client()
        said = client.get("/api/model")
        assert said.headers["content-type"] == "application/json"
        names = [feature["name"] for feature in said.json["features"]]
        assert SCRIPT in names
        fields = client.get("/api/people/0").json["fields"]
        target = next(each for each in said.json["outcomes"])
        last = client.answer({"fields": fields, "target": target, "distance": "l1"})
        last = last if "done" in last else client.answer(
            {"fields": fields, "target": said.json["outcomes"][1], "distance": "l1"}
        )  # fmt: skip
        letter = client.ask("/api/letter", {"id": last["id"], "kind": "html"})
        assert b"<script" not in letter.content
        command = last["done"]["recipes"]["command"]
        assert FORMULA not in command.split("'")[0]


def test_the_time_limit_is_the_server_s(hard: Opened) -> None:
    client = hard.client()
    asked = _hard(client)
    assert client.ask("/api/explain", {**asked, "seconds": MOST + 1}).status == 422
    began = monotonic()
    done = client.answer({**asked, "seconds": 1})["done"]
    assert monotonic() - began < MOST
    assert done["status"] in ("feasible", "unknown")
    assert not any(line.startswith("Proved: nothing nearer") for line in done["proof"])


def test_two_at_once_and_a_third_waits(hard: Opened) -> None:
    """Both search at the same time, each about its own row; the third is told of the line."""
    clients = [hard.client() for _ in range(3)]
    asked = [{**_hard(client, row), "seconds": 3} for row, client in enumerate(clients)]
    with ThreadPoolExecutor(3) as threads:
        futures = [
            threads.submit(client.ask, "/api/explain", each)
            for client, each in zip(clients, asked, strict=True)
        ]
        wait_for(lambda: all(each.busy for each in hard.pool.processes))
        lines = [future.result().lines for future in futures]
    for each, question in zip(lines, asked, strict=True):
        assert question["target"] in each[-1]["done"]["target"]
        assert each[-1]["done"]["before"] != question["target"]
    assert any("waiting" in message for each in lines for message in each)
    assert len({each[-1]["id"] for each in lines}) == 3


def test_who_leaves_calls_the_search_off(hard: Opened) -> None:
    client = hard.client()
    raw = _left_alone(client, _hard(client))
    process = wait_for(lambda: next((p for p in hard.pool.processes if p.doing), None))
    raw.close()
    wait_for(lambda: not process.busy, MOST / 2)
    assert process.is_running


@pytest.mark.parametrize("starting", [False, True])
def test_stop_answers_with_what_there_is(hard: Opened, starting: bool) -> None:
    """However early it comes: before the search has begun, or while its process starts."""
    client, stranger = hard.client(), hard.client()
    wait_for(lambda: not any(each.busy for each in hard.pool.processes))
    for each in hard.pool.processes if starting else ():
        assert each.pid is not None
        os.kill(each.pid, signal.SIGKILL)
        wait_for(lambda each=each: not each.is_running)
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(client.answer, _hard(client))
        process = wait_for(lambda: next((p for p in hard.pool.processes if p.doing), None))
        answer = process.doing
        stranger.ask("/api/stop", {"id": answer})
        assert process.doing == answer
        began = monotonic()
        assert client.ask("/api/stop", {"id": answer}).status == 200
        done = future.result()["done"]
    assert monotonic() - began < MOST / 2
    assert done["status"] in ("feasible", "unknown")


def test_a_process_that_dies_is_replaced(site: Site) -> None:
    with opened(site, jobs=1) as server:
        client = server.client()
        answer = client.answer(ASKED)["id"]
        (process,) = server.pool.processes
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        wait_for(lambda: not process.is_running)
        assert client.ask("/api/certificate", {"id": answer}).status == 410
        assert client.answer(ASKED)["done"]["status"] == "optimal"


def test_a_model_that_changed_is_not_asked(folder: Path, tmp_path: Path) -> None:
    for name in ("tree.onnx", "tree.toml", "tree.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    site = files(tmp_path, "tree").load()
    (tmp_path / "tree.onnx").write_bytes((folder / "tree.onnx").read_bytes() + b"\x72\x00")
    with opened(site, jobs=1) as server:
        assert "changed" in server.client().answer(ASKED)["error"]


def test_the_folder_of_letters_is_gone_in_the_end(site: Site) -> None:
    with opened(site) as server:
        client = server.client()
        answer = client.answer(ASKED)["id"]
        assert client.ask("/api/certificate", {"id": answer}).status == 200
        assert client.ask("/api/letter", {"id": answer, "kind": "html"}).status == 200
        wait_for(lambda: not list(server.folder().iterdir()))
        folder = server.folder()
    assert not folder.exists()


def test_other_machines_need_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidInputError, match="--allow-host"):
        hosts_of("0.0.0.0", [])
    assert hosts_of("0.0.0.0", ["Box.example"]) == {"box.example"}
    assert "unencrypted" in capsys.readouterr().err
    assert hosts_of("127.0.0.1", ["box"]) == {"127.0.0.1", "localhost", "::1", "box"}
    assert not capsys.readouterr().err


def _hard(client: Client, row: int = 1) -> dict[str, Any]:
    fields = client.get(f"/api/people/{row}").json["fields"]
    outcome = client.ask("/api/outcome", {"fields": fields}).json["outcome"]
    other = {"yes": "no", "no": "yes"}[outcome]
    return {"fields": fields, "target": other, "distance": "l1", "seconds": MOST}


def _left_alone(client: Client, asked: Any) -> socket.socket:
    """A question whose answer nobody reads."""
    body = json.dumps(asked).encode()
    lines = [
        "POST /api/explain HTTP/1.1", f"host: 127.0.0.1:{client.port}",
        "content-type: application/json", f"content-length: {len(body)}",
        *(f"{name}: {value}" for name, value in client.headers.items()),
    ]  # fmt: skip
    raw = socket.create_connection(("127.0.0.1", client.port))
    raw.sendall("\r\n".join([*lines, "", ""]).encode() + body)
    return raw

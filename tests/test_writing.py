"""Files are written whole or not at all, and what is no file is written to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.writing import check_writable, make_folder, write_together, write_whole, written_whole

TABLE = pd.DataFrame({"a": [0, 1, 2, 3, 4, 5], "b": [3, 1, 4, 1, 5, 9]})


def test_a_new_file_and_one_that_is_replaced(tmp_path: Path) -> None:
    new, old = tmp_path / "new.txt", tmp_path / "old.txt"
    write_whole(new, "straße\n")
    assert new.read_bytes() == "straße\n".encode()
    mask = os.umask(0)
    os.umask(mask)
    assert new.stat().st_mode & 0o777 == 0o666 & ~mask
    old.write_text("before")
    old.chmod(0o640)
    write_whole(old, b"after")
    assert (old.read_bytes(), old.stat().st_mode & 0o777) == (b"after", 0o640)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.txt", "old.txt"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link, real = tmp_path / "link.txt", tmp_path / "folder" / "real.txt"
    link.symlink_to(real)
    for content in ("one", "two"):
        write_whole(link, content)
        assert link.is_symlink()
        assert real.read_text() == content


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_breaks_off_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before")

    def broken_off() -> None:
        with written_whole(path) as beside:
            beside.write_text("ha")
            raise error

    with pytest.raises((cfxc.InvalidInputError, KeyboardInterrupt)):
        broken_off()
    assert path.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_files_that_belong_together(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "nowhere" / "second"
    with pytest.raises(cfxc.InvalidInputError, match="second: cannot write: no folder"):
        write_together({first: "1", second: "2"})
    assert not list(tmp_path.iterdir())


def test_errors_of_ours_keep_their_words(tmp_path: Path) -> None:
    with pytest.raises(cfxc.ModelFileError, match=r"^as it was$"), written_whole(tmp_path / "a"):
        raise cfxc.ModelFileError("as it was")


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    check_writable(pipe)
    write_whole(pipe, "text\n")
    assert os.read(reader, 99) == b"text\n"
    assert pipe.is_fifo()
    os.close(reader)


@pytest.mark.parametrize("piped", [False, True])
def test_our_own_stdout(tmp_path: Path, piped: bool) -> None:
    code = """
from cfxc.writing import check_writable, write_whole
print("before")
check_writable("/dev/stdout")
write_whole("/dev/stdout", "whole\\n")
print("after")
"""
    root = str(Path(cfxc.__file__).parents[1])
    with (tmp_path / "out.txt").open("wb") as file:
        ended = subprocess.run(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE if piped else file,
            env={**os.environ, "PYTHONPATH": root},
            check=True,
        )
    out = ended.stdout if piped else (tmp_path / "out.txt").read_bytes()
    assert out.split() == [b"before", b"whole", b"after"]


def test_what_cannot_be_written_is_refused_before_work(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "no" / "a", "no folder"), (tmp_path, "it is a folder")):
        with pytest.raises(cfxc.InvalidInputError, match=words):
            check_writable(path)
        with pytest.raises(cfxc.InvalidInputError, match="cannot write"):
            write_whole(path, "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(cfxc.InvalidInputError, match="it is no folder"):
        make_folder(tmp_path / "file")
    check_writable(None)
    check_writable(tmp_path / "a")
    check_writable("/dev/null")


@pytest.fixture(scope="module")
def answer() -> tuple[Any, Any]:
    model = cfxc.compile(
        DecisionTreeClassifier().fit(TABLE, [0, 0, 0, 1, 1, 1]), cfxc.FeatureSpace.infer(TABLE)
    )
    return model, model.explain(TABLE.iloc[[0]])


WRITERS: dict[str, Callable[[Any, Any, Path], Any]] = {
    "certificate": lambda model, result, path: result.certificate.save(path),
    "space": lambda model, result, path: model.space.to_toml(path),
    "evaluations": lambda model, result, path: cfxc.Evaluations(model.space).save(path),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("name", list(WRITERS))
def test_everything_that_writes(name: str, answer: tuple[Any, Any], tmp_path: Path) -> None:
    for path, words in (
        (Path("/dev/full"), "No space left"),
        (tmp_path / "no" / "a", "no folder"),
        (tmp_path, "directory"),
    ):
        with pytest.raises(cfxc.InvalidInputError, match=rf"{path}: cannot write: .*{words}"):
            WRITERS[name](*answer, path)
    out = tmp_path / "out"
    WRITERS[name](*answer, out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_exports_are_all_there_or_none(answer: tuple[Any, Any], tmp_path: Path) -> None:
    _, result = answer
    (tmp_path / "c.upper.smt2").symlink_to("/dev/full")
    with pytest.raises(cfxc.InvalidInputError, match=r"upper.smt2: cannot write: No space left"):
        cfxc.export(result.certificate, "smt2", tmp_path / "c")
    assert [path.name for path in tmp_path.iterdir()] == ["c.upper.smt2"]

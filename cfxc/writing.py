"""Files written whole or not at all: beside their place first, then moved there.

What is no file (``/dev/stdout``, a pipe, a device) cannot be replaced: it gets the whole content at
the end.  Every layer may import this module.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from .errors import CfxcError, DataTypeError, InvalidInputError
from .suffixes import FILES

LONGEST = 255
"""Bytes of the name of a file or folder."""


def path_of(path: object, what: str = "a file") -> Path:
    """The path of a file or folder, as such.

    Raises:
        DataTypeError, InvalidInputError: it is none; no file can have such a name.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise DataTypeError(f"expected the path of {what}, a text or a pathlib.Path, not {path!r}")
    if not text:
        raise InvalidInputError(f"the path of {what} is empty; name one")
    long = max(len(part.encode("utf-8", "replace")) for part in text.split(os.sep)) > LONGEST
    if long or "\0" in text:
        why = "is so long" if long else "holds a NUL"
        raise InvalidInputError(f"{text[:80]!r}: no name of {what} {why}; name another")
    return Path(text)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a text (UTF-8, ``\\n``) or bytes to a file, whole or not at all.

    Raises:
        InvalidInputError: the file cannot be written; what was there is untouched.
    """
    write_together({path_of(path): content})


def write_together(files: Mapping[Path, str | bytes]) -> None:
    """Write several files that belong together; none is put in its place before all are written.

    Raises:
        InvalidInputError: one cannot be written.
    """
    with ExitStack() as places:  # devices come last, so that they are written first
        for path, content in sorted(files.items(), key=lambda one: is_special(Path(one[0]))):
            beside = places.enter_context(written_whole(path))
            beside.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """A new file of the same suffix, to be written; it takes the place of ``path`` at the end.

    A link stays a link: the file that it leads to is replaced.  If the block fails, what was at
    ``path`` is untouched and the new file is deleted.

    Raises:
        InvalidInputError: the file cannot be written.
    """
    path = path_of(path)
    try:
        special = is_special(path)
        place = path if special else Path(os.path.realpath(path))
        folder = tempfile.gettempdir() if special else place.parent
        prefix, suffix = f".{place.stem[:99]}.", place.suffix
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=folder)
        os.close(handle)
        try:
            yield Path(name)
            if special:
                _copy(Path(name), place)
            else:
                os.chmod(name, _mode(place))
                os.replace(name, place)
        finally:  # Ctrl-C too must not leave the half-written file
            with suppress(FileNotFoundError):
                os.unlink(name)
    except CfxcError:
        raise
    except OSError as error:
        raise _unwritable(path, error) from error


def make_folder(path: str | Path) -> Path:
    """A folder and those above it, unless it is there.

    Raises:
        InvalidInputError, DataTypeError: it cannot be made; it is no path.
    """
    path = path_of(path, "a folder")
    if path.suffix.lower() in FILES and not path.is_dir():
        raise InvalidInputError(
            f"{path}: a folder would be made here; name one whose name does not end in "
            f"{path.suffix}, as files do"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
        raise InvalidInputError(f"{path}: cannot write: {why}; name another folder") from error
    return path


@contextmanager
def held_alone(path: Path) -> Iterator[None]:
    """Hold a file while the block runs, so that no second process does; it ends with the process.

    Where the system or the disk knows no such locks, nothing is held.

    Raises:
        InvalidInputError: another process holds it.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InvalidInputError(
                f"{path.parent}: another run is writing there; wait for its end, or name another "
                "folder"
            ) from error
        except OSError:  # of some disks in a network
            pass
        yield


def _unwritable(path: str | Path, error: OSError) -> InvalidInputError:
    """The message about a file that cannot be written, and what to do."""
    if isinstance(error, BrokenPipeError):  # the reader has gone: no fault of the file
        raise error
    why = f"{error.strerror or error}; make room, or name another file"
    if isinstance(error, FileNotFoundError):
        why = f"no folder {Path(path).parent}; make it first"
    return InvalidInputError(f"{path}: cannot write: {why}")


def check_writable(path: str | Path | None, *taken: str | Path | None) -> None:
    """Refuse an output file that cannot be made, before any work.

    Args:
        taken: Other files of the same command, which it must not replace.

    Raises:
        InvalidInputError: its folder does not exist or cannot be written, it is a folder, or taken.
    """
    if path is None:
        return
    if not is_special(path_of(path)):
        _refuse_taken(path, taken)
    place = Path(os.path.realpath(path))
    folder = place.parent
    if Path(path).is_dir():
        raise InvalidInputError(f"{path}: cannot write: it is a folder; name a file in it")
    if is_special(Path(path)):
        if not os.access(path, os.W_OK):
            raise InvalidInputError(f"{path}: cannot write: no permission; name another file")
        return
    if not folder.is_dir():
        raise InvalidInputError(f"{path}: cannot write: no folder {folder}; make it first")
    if not os.access(folder, os.W_OK):
        raise InvalidInputError(
            f"{path}: cannot write: no permission in {folder}; name another folder"
        )


def _refuse_taken(path: str | Path, taken: Iterable[str | Path | None]) -> None:
    """Refuse the place of another file, also by another name."""
    for other in taken:
        if other is not None and _is_same(path, other):
            raise InvalidInputError(
                f"{path}: cannot write: this command has that file for something else; name "
                "another file"
            )


def _is_same(path: str | Path, other: str | Path) -> bool:
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def is_special(path: Path) -> bool:
    """Whether ``path`` is no file that can be replaced: a device, a pipe, or our own stdout."""
    return path.exists() and not path.is_dir() and (not path.is_file() or _is_stdout(path))


def _is_stdout(path: Path) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(1))
    except OSError:
        return False


def _copy(content: Path, place: Path) -> None:
    """The content to what cannot be replaced; behind what was printed, if that is our stdout."""
    ours = _is_stdout(place)
    if ours:
        sys.stdout.flush()  # opened a second time, a file would be written over from its start
    with content.open("rb") as source, open(os.dup(1) if ours else place, "wb") as target:
        shutil.copyfileobj(source, target)


def _mode(path: Path) -> int:
    """The permissions of the file that is replaced, or those of a new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

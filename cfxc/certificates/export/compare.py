"""Is an exported file about its certificate?  Rebuild what it says of the question, and compare.

A checker of such a file proves the file.  That its problem is the certificate's is shown here: it
is written again, from the certificate alone, and must be the same, letter by letter.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import InvalidInputError, VerificationError
from ..checker import number
from .cpc import referring
from .screening import SIZE, parted, screened
from .smtlib import lower
from .vipr import rebuilt
from .vipr.text import goal, head

SECONDS = 3600.0  # after which a checker that was started is ended
RANGE = re.compile(r"RTP range (-?[0-9]+(?:/[1-9][0-9]*)?) (\S+)")
VERIFIED = re.compile(
    r"(Successfully verified (optimal value range|infeasibility)|Infeasibility verified).*"
)


@dataclass(frozen=True)
class Compared:
    """A file that is about its certificate.

    Attributes:
        claimed: The certificate's bound (of l2, its square); None: nothing is admissible.
        shown: The bound that the file shows if its proof holds; None likewise.
        about: What was compared.
        remains: The command that checks the proof itself, and what it must say.
        message: What that command said, if it is installed; empty otherwise.
        squared: Whether the bounds are squares.
    """

    claimed: Fraction | None
    shown: Fraction | None
    about: str
    remains: str
    message: str
    squared: bool

    @property
    def reaches(self) -> bool:
        """Whether as much is shown as was claimed."""
        return self.shown is None or (self.claimed is not None and self.shown >= self.claimed)


def compare_vipr(certificate: Mapping[str, Any], path: Path) -> Compared:
    """Whether a VIPR file holds the certificate's program, goal and witness.

    Its derivation is for ``viprchk``, which is run if it is on PATH.

    Raises:
        InvalidInputError: the file cannot be read.
        VerificationError: it is about something else, or viprchk does not accept it.
        UnsupportedError: VIPR has no room for the certificate's distance.
    """
    given = _read(path).split("\n")
    if not any(line.startswith("VER ") for line in given):
        raise InvalidInputError(f"{path}: no VIPR file; name the OUT.vipr that was exported")
    problem, point, claimed = rebuilt(certificate)
    expected = head(problem, certificate["hash"])
    _same(expected, given, path)
    place, shown = len(expected), claimed
    line = given[place] if place < len(given) else ""
    if claimed is not None and (found := RANGE.fullmatch(line)):
        shown = Fraction(found[1])
        if shown > claimed:
            raise VerificationError(f"{path}: it is to prove {shown}, the certificate {claimed}")
    elif claimed is None and (found := RANGE.fullmatch(line)):
        shown = Fraction(found[1])  # less than infeasibility
    expected += goal(problem, shown, point)
    _same(expected, given, path)
    if not given[len(expected) : len(expected) + 1] or not given[len(expected)].startswith("DER "):
        raise VerificationError(f"{path}: line {len(expected) + 1}: the derivation is missing")
    about = f"{len(problem.columns)} variables, {len(problem.rows)} rows, the goal and the witness"
    remains = f"viprchk {path}: exit code 0, and a line 'Successfully verified …'"
    return Compared(claimed, shown, about, remains, _viprchk(path), squared=False)


def compare_cpc(certificate: Mapping[str, Any], path: Path) -> Compared:
    """Whether a CPC proof, and the script beside it that it refers to, are the certificate's.

    The proof may hold nothing but steps from what the script asserts to ``false``.  Whether the
    steps are right is for ``ethos``, which is run if it is on PATH with ``cpc/Cpc.eo`` beside it.

    Raises:
        InvalidInputError: a file cannot be read.
        VerificationError: it is about something else, or ethos does not accept it.
    """
    text = _read(path)
    if "(reference " not in text:
        raise InvalidInputError(f"{path}: no proof of cvc5; name the OUT.cpc that was exported")
    name, proof = parted(text)
    script = path.with_name(name)
    given, shown, about = _read(script), None, ""
    for cut in (False, True):
        expected, shown = lower(certificate, cut=cut)
        about = "ranges cut to the radius, and trees to them, by cfxc" if cut else "all of it"
        if given == expected:
            break
    else:
        _same(lower(certificate)[0].split("\n"), given.split("\n"), script)
    if text != f"; cfxc certificate {certificate['hash']}\n{referring(proof, name)}":
        raise VerificationError(f"{path}: it does not begin with the hash of the certificate")
    try:
        screened(proof, expected)
    except VerificationError as error:
        raise VerificationError(f"{path}: {error}") from None
    status = certificate["claim"]["status"] == "infeasible"
    claimed = None if status else number(certificate["claim"]["lower_bound"])
    remains = (
        f"ethos --include=…/cpc/Cpc.eo --require-proof-of-false {path.name}, in its folder: exit "
        "code 0, and 'correct' as all that it says"
    )
    squared = number(certificate["question"]["norms"]["l2"]) == 1
    about = f"the question in {name} ({about})"
    return Compared(claimed, shown, about, remains, _ethos(path), squared)


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > SIZE:
            raise InvalidInputError(f"{path}: larger than {SIZE} bytes")
        return path.read_bytes().decode()
    except OSError as error:
        from ...space.names import unreadable

        remedy = "name the file that was exported"
        raise InvalidInputError(unreadable(path, "the export", error, remedy)) from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"{path}: cannot be read: it is no text") from None


def _same(expected: Sequence[str], given: Sequence[str], path: Path) -> None:
    """Refuse a file that does not begin with these lines; says where they part."""
    for place, line in enumerate(expected):
        here = given[place] if place < len(given) else None
        if here != line:
            says = "ends" if here is None else f"says {_short(here, line)}"
            raise VerificationError(
                f"{path}: line {place + 1} {says}, where the certificate's has "
                f"{_short(line, here or '')}; export the certificate again and compare"
            )


def _short(line: str, other: str) -> str:
    """A line from shortly before where it differs from another."""
    pairs = zip(line, other, strict=False)
    first = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(line), len(other)))
    start = max(first - 30, 0)
    return repr(("…" if start else "") + line[start : start + 60])


def _viprchk(path: Path) -> str:
    """What viprchk says; refuses what it does not accept."""
    if (tool := shutil.which("viprchk")) is None:
        return ""
    code, message = _run([tool, str(path.absolute())], path.absolute().parent)
    lines = [line for line in message.splitlines() if VERIFIED.fullmatch(line.strip())]
    if code or not lines or "Failed" in message:
        raise VerificationError(f"{path}: viprchk does not accept it: {message.strip()[-200:]}")
    return f"viprchk: {lines[-1].strip()}"


def _ethos(path: Path) -> str:
    """What ethos says; refuses what it does not accept."""
    tool = shutil.which("ethos")
    if tool is None or not (signature := Path(tool).parent / "cpc" / "Cpc.eo").exists():
        return ""
    options = [f"--include={signature.absolute()}", "--require-proof-of-false"]
    code, message = _run([tool, *options, path.name], path.absolute().parent)
    if code or message.strip() != "correct":
        raise VerificationError(f"{path}: ethos does not accept it: {message.strip()[-200:]}")
    return "ethos: correct"


def _run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", cwd=folder, check=False,
            timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1, f"it takes more than {SECONDS:g} s"
    return done.returncode, done.stdout + done.stderr

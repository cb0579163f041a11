"""The page of the format: its certificate holds, and its one trap is one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cfxc.certificates import checker
from cfxc.certificates.checker import reader, region
from tests.certificates.mutants import rehashed

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "certificate-format.md"
FOLDER = ROOT / "cfxc" / "certificates" / "checker"


def test_the_certificate_by_hand_holds() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    content = json.loads(text)
    shown = checker.check(content)
    assert (shown.status, shown.parts) == ("optimal", {"distance": 1, "bound": 1})
    content["proof"]["nodes"][1][2][0][2] = "0"
    with pytest.raises(checker.Rejected, match="node 1"):
        checker.check(rehashed(content))


def test_every_lemma_that_the_code_names_is_on_the_page() -> None:
    page = PAGE.read_text("utf-8")
    code = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    named = {int(n) for n in re.findall(r"[Ll]emmas? (\d+)", code)}
    stated = {int(n) for n in re.findall(r"\*\*Lemma (\d+)", page)}
    assert named == stated == set(range(1, 17))


def test_every_limit_that_the_code_has_is_on_the_page() -> None:
    limits = PAGE.read_text("utf-8").split("\nLimits (")[1].split("\n\n")[0]
    for most in (region.CELLS, region.FINEST, reader.KEPT, 2**7 * reader.KEPT, reader.BITS):
        power = str(most.bit_length() - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        assert f"2{power}" in limits
    for megabytes in (reader.BYTES >> 20, *(reader.MEMORY // n // 10**6 for n in (1, 4, 8))):
        assert f"{megabytes} MB" in limits
    assert f"{reader.DIGITS:,} digits a number" in limits
    assert f"conditions {reader.DEPTH} deep" in limits
    assert (
        f"{reader.SECONDS:g} seconds of processor time, and {reader.PER_MEGABYTE:g} more" in limits
    )

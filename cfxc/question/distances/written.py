"""Distances as texts: names of norms, and mixes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ...errors import InvalidInputError, brief
from ...frontends.row_files import once
from ...space.names import suggestion

#: The norms that may be mixed, in the order of the coefficients (alpha, beta, gamma).
NORMS: Final = ("l0", "l1", "linf")
#: The Euclidean norm stands alone: a root has no rational value, and so its square is what counts.
EUCLIDEAN: Final = "l2"
#: Fewest changes first, and l1 among those.
SPARSE: Final = "sparse"
#: The name of what :class:`Mahalanobis` gives.
MAHALANOBIS: Final = "mahalanobis"
#: What else norms are called.
ALIASES: Final = {
    "euclidean": EUCLIDEAN, "manhattan": "l1", "cityblock": "l1", "hamming": "l0",
    "chebyshev": "linf", "max": "linf",
}  # fmt: skip

MIX = re.compile(r"\s*\w+\s*=[^=:;\n,]+(,\s*\w+\s*=[^=:;\n,]+)*")
NEARLY = re.compile(r"[\d.*/\s]*l(\d|inf)\s*([+=,;*]|:(?!=))")
WORD = re.compile(r"[\w.+-]*")


def coefficients_in(text: str) -> Mapping[str, str] | None:
    """Of ``l0=0.3,l1=0.7`` by the norms' names; ``None`` of what may be a program.

    Raises:
        InvalidInputError: it is neither.
    """
    text = text.strip()
    if text.partition("=")[0].strip() == MAHALANOBIS:
        raise InvalidInputError(
            "a Mahalanobis distance needs data: distance=cfxc.Mahalanobis(X) in Python; on the "
            "command line, and in its question files, mahalanobis=data.csv"
        )
    if MIX.fullmatch(text):
        parts = [part.partition("=") for part in text.split(",")]
        return once([(name.strip(), factor.strip()) for name, _, factor in parts])
    if NEARLY.match(text):
        raise InvalidInputError(
            f"{brief(text)} is no distance; a mix of norms is written 'l0=0.3,l1=0.7', with points "
            "in its numbers, which sum to 1"
        )
    if WORD.fullmatch(text):
        alias = f" (nearest: {ALIASES[text.lower()]!r})" if text.lower() in ALIASES else ""
        raise InvalidInputError(
            f"unknown distance {text!r}{alias or suggestion(text, (*NORMS, EUCLIDEAN, SPARSE))}; a "
            "file is given by a path that ends in .cfl"
        )
    return None

"""Kinds of files by their suffixes, in lower case."""

from __future__ import annotations

PARQUET = (".parquet", ".pq")
TABLES = (".csv", *PARQUET)
PICKLES = (".pkl", ".pickle", ".joblib")
MODULES = (".pt2", ".pt", ".pth")
BOOSTERS = (".json", ".ubj", ".txt", ".cbm")
MODELS = (".onnx", ".skops", *BOOSTERS, *PICKLES, *MODULES)
PICTURES = (".png", ".svg", ".pdf", ".jpg")
BINARY = {
    *PARQUET, *PICKLES, *MODULES, *PICTURES, ".onnx", ".skops", ".ubj", ".cbm", ".gz", ".xlsx",
}  # fmt: skip
"""Of files that are no text, in whatever encoding."""
FILES = {*BINARY, *TABLES, *MODELS, ".toml", ".html", ".htm", ".md"}
"""How names of files end, and those of new folders do not."""


def same_kind(suffix: str, other: str) -> bool | None:
    """Whether files of both suffixes are of one kind; ``None`` where either is unknown."""
    if not {suffix, other} <= FILES:
        return None
    kinds = (PARQUET, PICKLES, MODULES)
    return suffix == other or any(suffix in kind and other in kind for kind in kinds)

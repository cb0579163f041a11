"""Models in skops files: opened without running code that comes with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError, ModelFileError

TRUSTED = (
    "sklearn.tree._tree.Tree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
"""Types that skops leaves to its users to trust: parts of supported models, numbers only.

Opening them runs no code of the file.  Trees are walked by compiled code that takes their node
arrays as they are, so these are checked here.
"""
_SHOWN = 6
_LEAF = -1


def load_skops(path: Path) -> Any:
    """The object in a skops file, if it is made of trusted types only.

    Raises:
        MissingExtraError: the package skops is not installed.
        ModelFileError: the file is damaged, or holds other types or inconsistent trees.
    """
    try:
        import skops.io as sio
    except ImportError as error:
        raise MissingExtraError("skops", "skops", f"{path.name}: reading a .skops file") from error
    try:
        strangers = [one for one in sio.get_untrusted_types(file=path) if one not in TRUSTED]
        loaded = None if strangers else sio.load(path, trusted=list(TRUSTED))
    except Exception as error:  # a damaged archive fails in zip, JSON, NumPy or skops itself
        raise damaged(path, error) from error
    if strangers:
        more = f" and {len(strangers) - _SHOWN} more" if len(strangers) > _SHOWN else ""
        raise ModelFileError(
            f"{path}: holds types that are not trusted: {', '.join(strangers[:_SHOWN])}{more}; "
            "save a model made of scikit-learn's own estimators"
        )
    if not all(map(_is_sound, _trees(loaded))):
        raise ModelFileError(f"{path}: a tree in it is inconsistent; save the model again")
    return loaded


def damaged(path: Path, error: Exception) -> ModelFileError:
    """What to say about a file that cannot be opened, whatever went wrong inside."""
    lines = str(error).splitlines()
    reason = f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
    return ModelFileError(
        f"{path}: cannot be opened; it is truncated, not a {path.suffix} file, or needs packages "
        f"that are not installed ({reason})"
    )


def _trees(model: Any) -> Iterator[tuple[Any, int]]:
    """The trees of a model, however deep inside, and how many columns each is given."""
    for _, step in getattr(model, "steps", ()):
        yield from _trees(step)
    for member in np.ravel(getattr(model, "estimators_", ())):
        yield from _trees(member)
    if hasattr(model, "tree_"):
        yield model.tree_, model.n_features_in_


def _is_sound(found: tuple[Any, int]) -> bool:
    """Whether every walk down a tree ends in a leaf and reads existing nodes and columns."""
    tree, columns = found
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    inner = left != _LEAF
    own, count = np.arange(tree.node_count), tree.node_count
    rising = all(((child > own) & (child < count))[inner].all() for child in (left, right))
    read = ((feature >= 0) & (feature < columns))[inner].all()
    return bool(count > 0 and rising and read and tree.n_features == columns)

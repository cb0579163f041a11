"""Public data sets of the field, in the variants of Karimi et al. 2020 (MACE).

They are read from the directory in the environment variable ``CFXC_DATA``, else fetched from
OpenML where a faithful copy is there, and kept in scikit-learn's data home.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InvalidInputError
from ..space.names import suggestion
from .adult import load_adult
from .compas import load_compas
from .credit import load_credit
from .source import Dataset

LOADERS: dict[str, Callable[[], Dataset]] = {
    "credit": load_credit,
    "compas": load_compas,
    "adult": load_adult,
}


def load(name: str) -> Dataset:
    """The data set ``credit``, ``compas`` or ``adult``.

    Raises:
        InvalidInputError: no such data set, or its files are nowhere to be found.
    """
    loader = LOADERS.get(name)
    if loader is None:
        raise InvalidInputError(f"no data set {name!r}{suggestion(name, LOADERS)}")
    return loader()


__all__ = ["LOADERS", "Dataset", "load", "load_adult", "load_compas", "load_credit"]

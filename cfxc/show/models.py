"""Which models are supported, and why others are not: from the registries, as text and a page."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import sklearn
from sklearn import feature_extraction, preprocessing
from sklearn.base import (
    ClassifierMixin,
    ClusterMixin,
    OutlierMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.feature_extraction import image, text
from sklearn.impute._iterative import IterativeImputer  # public behind a switch for experiments
from sklearn.utils import all_estimators

from ..errors import InvalidInputError
from ..frontends.loaded import PARTS, register_loaded
from ..frontends.onnx.coverage import OPSETS, coverage
from ..frontends.sklearn import MODELS, REFUSED, TRANSFORMERS, WRAPPERS
from ..frontends.sklearn.registry import PIPELINES, RESULTS
from ..space.names import meant

EXACT, ENCLOSED, REFUSES = "✔", "≈", "–"
WORDS = {EXACT: "exact", ENCLOSED: "enclosed", REFUSES: "refused"}
LINE = 98


@dataclass(frozen=True)
class Row:
    """A class or an op: its name, a mark of ``WORDS``, and what is to be known of it."""

    name: str
    mark: str
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A table of the page."""

    title: str
    rows: Sequence[Row]

    @property
    def share(self) -> str:
        """``40 of 44``: how many rows are not refused."""
        return f"{sum(row.mark != REFUSES for row in self.rows)} of {len(self.rows)}"


UNDECIDED = "has no rule here"
NOT_TABLES = (
    feature_extraction.DictVectorizer, feature_extraction.FeatureHasher,
    image.PatchExtractor, text.CountVectorizer, text.HashingVectorizer, text.TfidfVectorizer,
    preprocessing.KernelCenterer, preprocessing.LabelBinarizer, preprocessing.LabelEncoder,
    preprocessing.MultiLabelBinarizer,
)  # fmt: skip
"""Transformers of texts, pictures, mappings, labels and kernels."""
ROLES = {
    "Classifiers": ClassifierMixin,
    "Regressors": RegressorMixin,
    "Detectors of outliers": OutlierMixin,
    "Transformers": TransformerMixin,
}
NOT_NUMBERS = "Transformers of other things than tables of numbers"
OTHERS = "Pipelines, searches, clusters and densities"


def sections() -> list[Section]:
    """All tables, in their order."""
    return [section for make in SECTIONS for section in make()]


def of_sklearn() -> list[Section]:
    """Every public estimator of the installed scikit-learn, by the first of its roles."""
    listed = {cls for _, cls in all_estimators()}
    known = {*MODELS, *TRANSFORMERS, *WRAPPERS, *REFUSED, IterativeImputer}
    listed |= {cls for cls in known if cls.__module__.startswith("sklearn.")}
    rows: dict[str, list[Row]] = {title: [] for title in (*ROLES, NOT_NUMBERS, OTHERS)}
    for cls in sorted(listed, key=lambda cls: cls.__name__):
        rows[_title(cls)].append(row_of(cls))
    return [Section(title, held) for title, held in rows.items()]


OTHER_LIBRARIES = {
    "xgboost": "XGBoost", "lightgbm": "LightGBM", "catboost": "CatBoost",
    "imblearn": "imbalanced-learn", "interpret": "interpret",
    "category_encoders": "category_encoders", "lineartree": "linear-tree",
    "statsmodels": "statsmodels",
}  # fmt: skip
"""Packages that hold models and transformers, as people call them."""


def of_libraries() -> list[Section]:
    """What other libraries hold, those that are installed."""
    for module in PARTS:
        if find_spec(module.split(".")[0]) is not None:
            import_module(module)
    register_loaded()
    known = sorted({*MODELS, *TRANSFORMERS, *PIPELINES, *RESULTS}, key=lambda cls: cls.__name__)
    found = []
    for library, title in OTHER_LIBRARIES.items():
        own = [cls for cls in known if cls.__module__.split(".")[0] == library]
        if own:
            found.append(Section(title, [row_of(cls) for cls in own]))
    return found


def of_onnx() -> list[Section]:
    """Every op of the op sets that are read."""
    marks = {"exact": EXACT, "enclosed": ENCLOSED, "refused": REFUSES}
    rows = [
        Row(row.op if row.domain == "ai.onnx" else f"{row.domain}.{row.op}", marks[row.mark],
            row.note)
        for row in coverage()
    ]  # fmt: skip
    versions = " and ".join(f"{domain} {version}" for domain, version in OPSETS.items())
    return [Section(f"ONNX ops, {versions}", rows)]


SECTIONS: list[Callable[[], list[Section]]] = [of_sklearn, of_libraries, of_onnx]
"""What is listed."""


def _title(cls: type) -> str:
    if cls in NOT_TABLES:
        return NOT_NUMBERS
    groups = issubclass(cls, ClusterMixin) and hasattr(cls, "predict")
    titles = (title for title, role in ROLES.items() if issubclass(cls, role))
    return OTHERS if groups else next(titles, OTHERS)


def row_of(cls: type) -> Row:
    """What the registries say of a class."""
    if (entry := MODELS.get(cls)) is not None:
        return Row(cls.__name__, ENCLOSED if entry.enclosed else EXACT, entry.note)
    if cls in WRAPPERS:
        return Row(cls.__name__, EXACT, "as the estimator in it is")
    if cls in TRANSFORMERS or cls in PIPELINES:
        step = TRANSFORMERS.get(cls)
        return Row(cls.__name__, EXACT, step.note if step else "")
    if cls in RESULTS:
        return Row(cls.__name__, EXACT, RESULTS[cls])
    if (refusal := REFUSED.get(cls)) is not None:
        return Row(cls.__name__, REFUSES, _sentences(refusal.reason, refusal.remedy))
    return Row(cls.__name__, REFUSES, UNDECIDED)


def _sentences(reason: str, remedy: str) -> str:
    return f"{reason}. {remedy}" if remedy else reason


def of_name(name: str) -> list[Section]:
    """The rows of one class or op, in any spelling of capitals.

    Raises:
        InvalidInputError: there is none; names the nearest.
    """
    every = sections()
    found = [
        Section(each.title, rows)
        for each in every
        if (rows := [row for row in each.rows if row.name.lower() == name.lower()])
    ]
    if not found:
        names = [row.name for each in every for row in each.rows]
        raise InvalidInputError(
            f"no class or op is called {name!r}{meant(name, names)}; cfxc models lists all, of "
            "other libraries those that are installed"
        )
    return found


def as_text(found: Sequence[Section], *, shares: bool = True) -> str:
    """Lines for a terminal; ``shares``: how many of each table are read."""
    width = max(len(row.name) for section in found for row in section.rows)
    lines: list[str] = []
    for section in found:
        lines += [f"{section.title}{f': {section.share}' if shares else ''}", ""]
        for row in section.rows:
            start = f"  {row.mark} {row.name:{width}}  "
            note = textwrap.wrap(row.note, LINE - len(start)) or [""]
            lines += [(start + note[0]).rstrip()]
            lines += [" " * len(start) + more for more in note[1:]]
        lines.append("")
    return "\n".join([*lines, *list(legend(found))[: 2 if shares else 1], ""])


def as_json(found: Sequence[Section]) -> Mapping[str, Any]:
    """For machines."""
    return {
        "sections": [
            {
                "title": section.title,
                "rows": [
                    {"name": row.name, "support": WORDS[row.mark], "note": row.note}
                    for row in section.rows
                ],
            }
            for section in found
        ]
    }


def legend(found: Sequence[Section]) -> Iterable[str]:
    """What the marks mean, and how many of scikit-learn's estimators have one."""
    yield f"{EXACT} exact   {ENCLOSED} held between lines that enclose it   {REFUSES} refused"
    shares = [f"{section.share} {section.title.lower()}" for section in found[: len(ROLES)]]
    yield f"Of scikit-learn {version()}: {', '.join(shares)} that take tables of numbers."


def version() -> str:
    """The installed scikit-learn's, without its last number."""
    return ".".join(sklearn.__version__.split(".")[:2])

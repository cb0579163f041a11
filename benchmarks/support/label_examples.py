"""Small trained models of every kind, from the tables of examples that the tests keep.

A kind that joins those tables is in here by itself; ``missing_kinds`` names the registered classes
that no example holds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

import cfxc
from cfxc.frontends.sklearn import MODELS, TRANSFORMERS, WRAPPERS
from cfxc.frontends.sklearn.registry import PIPELINES, RESULTS
from tests.frontends.sklearn import ensembles, predictors
from tests.frontends.sklearn import test_sklearn_encoders as encoders
from tests.frontends.sklearn import test_sklearn_models as models
from tests.frontends.sklearn import test_sklearn_transformers as transformers
from tests.frontends.sklearn.transformers import REALS, make_table, make_target, spread


@dataclass(frozen=True)
class Trained:
    """A fitted model, the table that its rows are drawn from, and how to compile it."""

    model: Any
    table: pd.DataFrame
    space: cfxc.FeatureSpace
    options: Mapping[str, Any] = field(default_factory=dict)


Settings = dict[str, Callable[[], Trained]]
"""The same model on different columns: doubles, float32, with missing numbers."""

SECTORS = ["art", "law", "it", "farm"]
UNSEEN = "sea"
NUMBERS = ["age", "income", "tenths", "rate"]
LARGE = "large"  # where float32 holds the even whole numbers only


def people(count: int = 400, seed: int = 7) -> pd.DataFrame:
    """Whole numbers, decimals, tenths, float32, numbers near 3e7, and text."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "income": rng.normal(30, 9, count).round(2),
            "tenths": rng.choice(np.arange(-20, 21) / 10, count),
            "rate": rng.normal(size=count).astype(np.float32),
            "large": rng.integers(30_000_000, 30_000_900, count).astype(float),
            "sector": rng.choice([*SECTORS, UNSEEN], count),
        }
    )


def worth(table: pd.DataFrame) -> Any:
    """What targets depend on: all columns, and noise."""
    noise = np.random.default_rng(9).normal(0, 2, len(table))
    total = table["age"] * 0.4 + table["income"] + 3 * table["tenths"] + 5 * table["rate"]
    return (
        total + (table["large"] % 7) + 6 * table["sector"].isin(["law", "it"]) + noise
    ).to_numpy()


def target(table: pd.DataFrame, kind: str) -> Any:
    """``binary`` text, ``multi`` numbers, a positive ``value``, two ``values``, or ``none``."""
    own = worth(table)
    if kind == "binary":
        return np.where(own > np.median(own), "grant", "deny")
    if kind == "multi":
        return np.digitize(own, np.quantile(own, [0.3, 0.7])) * 10
    positive = own - own.min() + 1
    return np.column_stack([positive, table["age"] * 0.1]) if kind == "values" else positive


def columns(numbers: list[str], step: Any) -> ColumnTransformer:
    """The numbers after a step, and the sector one-hot: one that training lacks is none."""
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", step, numbers), ("sector", hot, ["sector"])])


def has_trees(model: Any) -> bool:
    """Whether the model, or one in it, compares numbers as they are."""
    return any(
        part in type(each).__name__
        for each in parts_of(model)
        for part in ("Tree", "Forest", "Boost")
    )


def fitted(model: Any, table: pd.DataFrame, kind: str) -> Any:
    """Trained on a table and a kind of target."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "none":
            return clone(model).fit(table)
        labels = target(table, kind)
        return clone(model).fit(table, labels)


def infer(table: pd.DataFrame) -> cfxc.FeatureSpace:
    """Numbers that are no whole ones are real: all floats between the ends are admitted."""
    floats = {name: "real" for name in table if table[name].dtype.kind == "f"}
    return cfxc.FeatureSpace.infer(table, kinds=floats)


def with_gaps(table: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """A tenth of the numbers missing."""
    rng = np.random.default_rng(11)
    holes = {name: table[name].astype(float if table[name].dtype.kind == "i" else table[name].dtype)
             for name in names}  # fmt: skip
    return table.assign(**{n: held.mask(rng.random(len(table)) < 0.1) for n, held in holes.items()})


def predictor(model: Any, kinds: list[str]) -> Settings:
    """A predictor behind columns, and on numbers alone: doubles, float32, with gaps."""
    kernels = any("kernel" in vars(each) for each in parts_of(model))
    table = people(150 if kernels else 400)
    known = table[table["sector"] != UNSEEN].reset_index(drop=True)
    raw = [*NUMBERS, LARGE] if has_trees(model) else NUMBERS

    def behind(step: Any, kind: str) -> Trained:
        used = [*NUMBERS, "sector"] if step != "passthrough" else [*raw, "sector"]
        pipe = make_pipeline(columns(used[:-1], step), clone(model))
        labels = fitted_target(known, kind)
        return Trained(_quietly(pipe, known[used], labels), table[used], infer(table[used]))

    def plain(held: pd.DataFrame, kind: str) -> Trained:
        return Trained(_quietly(clone(model), held, fitted_target(table, kind)), held, infer(held))

    last = kinds[-1]
    return {
        "columns": lambda: behind(StandardScaler(), kinds[0]),
        "raw columns": lambda: behind("passthrough", last),
        "doubles": lambda: plain(table[raw], last),
        "float32": lambda: plain(table[raw].astype(np.float32), kinds[0]),
        "gaps": lambda: plain(with_gaps(table[raw], raw[1:]), last),
    }


def fitted_target(table: pd.DataFrame, kind: str) -> Any:
    """What to train on; ``None`` for detectors of outliers."""
    return None if kind == "none" else target(table, kind)


def _quietly(model: Any, table: pd.DataFrame, labels: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table) if labels is None else model.fit(table, labels)


FINALS: dict[str, Callable[[], Any]] = {
    "linear": transformers.linear, "forest": transformers.forest, "boosting": transformers.boosting,
}  # fmt: skip


UNTRIED = {("linear", "gaps"), ("boosting", "gaps, filled after"), ("boosting", "float32")}
"""Settings of transformers that show what others show."""


def transformer(step: Any) -> Settings:
    """A transformer of numbers before a linear model, a forest and histogram boosting."""
    whole = make_table()
    labels = make_target(whole)
    rows = pd.concat([whole, spread(whole, 500)], ignore_index=True)
    single = dict.fromkeys(REALS, np.float32)

    def before(final: str, dtypes: Any, holes: str) -> Trained:
        table, drawn = whole.astype(dtypes), rows.astype(dtypes)
        if dtypes:
            table, drawn = table[REALS], drawn[REALS]
        if holes:
            table, drawn = with_gaps(table, REALS), with_gaps(drawn, REALS)
        after = [SimpleImputer()] if holes == "filled" else []
        model = make_pipeline(clone(step), *after, FINALS[final]())
        return Trained(_quietly(model, table, labels), drawn, infer(drawn))

    made: Settings = {}
    for final in FINALS:
        for name, dtypes, holes in (
            ("doubles", {}, ""), ("float32", single, ""), ("gaps", {}, "kept"),
            ("gaps, filled after", {}, "filled"),
        ):  # fmt: skip
            if (final, name) in UNTRIED:
                continue
            made[f"{name}, {final}"] = lambda f=final, d=dtypes, h=holes: before(f, d, h)
    return made


def encoder(step: Any) -> Settings:
    """An encoder of text and codes before the same models; some values are unseen or missing."""
    rng = np.random.default_rng(3)
    count = 400
    table = pd.DataFrame(
        {
            "sector": rng.choice([*SECTORS, UNSEEN], count).astype(object),
            "code": rng.choice([3, 5, 9, 11], count),
            "worth": rng.normal(size=count),
        }
    )
    labels = (
        table["worth"] + table["sector"].isin(["law", "sea"]) + (table["code"] == 5) > 0.5
    ).astype(int)
    gaps = table.assign(sector=table["sector"].mask(rng.random(count) < 0.1))

    def before(final: str, drawn: pd.DataFrame, unseen: bool) -> Trained:
        known = (drawn["sector"] != UNSEEN) & (drawn["code"] != 11) if unseen else slice(None)
        table, own = drawn[known].reset_index(drop=True), labels[known].reset_index(drop=True)
        parts = ColumnTransformer([("labels", clone(step), ["sector", "code"])],
                                  remainder="passthrough", sparse_threshold=0)  # fmt: skip
        space = cfxc.FeatureSpace.infer(drawn, kinds={"code": "categorical", "worth": "real"})
        return Trained(_quietly(make_pipeline(parts, FINALS[final]()), table, own), drawn, space)

    return {
        f"{name}, {final}": lambda f=final, d=held, u=unseen: before(f, d, u)
        for final in FINALS
        for name, held, unseen in (
            ("unseen", table, True), ("known", table, False), ("missing", gaps, False),
            ("missing and unseen", gaps, True),
        )
    }  # fmt: skip


ENCODERS: dict[str, Any] = {
    **{
        f"{cls.__name__} {name}": cls(**options)
        for cls, table in ((OneHotEncoder, encoders.ONE_HOT), (OrdinalEncoder, encoders.ORDINAL))
        for name, options in table.items()
        if "categories" not in options and not isinstance(options.get("drop"), list)
    },
    "OrdinalEncoder unknown is missing": OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan
    ),
    "OrdinalEncoder missing is -2": OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    ),
    "OneHotEncoder float32": OneHotEncoder(dtype=np.float32, handle_unknown="ignore"),
    "TargetEncoder": TargetEncoder(random_state=0),
}


def special() -> dict[str, Settings]:
    """Models that take columns of their own."""
    table = people()
    one = table[["income"]]
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(one, target(table, "value"))
    codes = pd.DataFrame({"size": table["age"] // 20, "part": table["age"] % 4})
    bayes = CategoricalNB(min_categories=6).fit(codes, target(table, "multi"))
    found = {
        "IsotonicRegression": {"plain": lambda: Trained(isotonic, one, infer(one))},
        "CategoricalNB": {"plain": lambda: Trained(bayes, codes, infer(codes))},
    }
    from sklearn.frozen import FrozenEstimator

    inner = make_pipeline(StandardScaler(), LogisticRegression())
    used = table[NUMBERS]
    frozen = FrozenEstimator(inner.fit(used, target(table, "binary")))
    found["FrozenEstimator"] = {"plain": lambda: Trained(frozen, used, infer(used))}
    return found


def of_sklearn() -> Iterator[tuple[str, Callable[[], Settings]]]:
    """Everything that the tests keep of scikit-learn."""
    both, value = ["multi", "binary"], ["value"]
    tables: list[tuple[str, Mapping[str, Any], list[str]]] = [
        ("models", models.CLASSIFIERS, both), ("models", models.REGRESSORS, value),
        ("predictors", predictors.CLASSIFIERS, both), ("predictors", predictors.BINARY, ["binary"]),
        ("predictors", predictors.REGRESSORS, value),
        ("predictors", predictors.SEVERAL, ["values", "value"]),
        ("predictors", predictors.TARGETS, ["values"]),
        ("predictors", predictors.DETECTORS, ["none"]),
        ("ensembles", ensembles.CLASSIFIERS, both), ("ensembles", ensembles.REGRESSORS, value),
    ]  # fmt: skip
    for where, held, kinds in tables:
        for name, model in held.items():
            of = "regressor" if "value" in kinds[-1] else "classifier"
            yield f"{where}: {name} ({of})", lambda m=model, k=kinds: predictor(m, k)
    for name, model in ensembles.OTHERS.items():
        kinds = (
            ["none"] if name.startswith("isolation") else ["value"] if "svr" in name else ["binary"]
        )
        yield f"ensembles: {name}", lambda m=model, k=kinds: predictor(m, k)
    steps = {**transformers.ALL_COLUMNS, **transformers.ONE_COLUMN}
    steps |= {type(one).__name__: one for one in transformers.SELECTORS}
    steps["leaves"] = RandomTreesEmbedding(5, max_depth=3, random_state=0)
    steps["indicators"] = make_union(SimpleImputer(), MissingIndicator(features="all"))
    for name, step in steps.items():
        yield f"transformers: {name}", lambda s=step: transformer(s)
    for name, step in ENCODERS.items():
        yield f"encoders: {name}", lambda s=step: encoder(s)
    for name in ("IsotonicRegression", "CategoricalNB", "FrozenEstimator"):
        yield f"special: {name}", lambda n=name: special()[n]


def parts_of(model: Any) -> list[Any]:
    """The objects in a fitted model, whatever holds them."""
    found: list[Any] = []
    pending, seen = [model], set[int]()
    while pending:
        one = pending.pop()
        if id(one) in seen or isinstance(one, str | bytes | int | float | type(None) | type):
            continue
        seen.add(id(one))
        if isinstance(one, Mapping):
            pending += one.values()
        elif isinstance(one, list | tuple | set):
            pending += one
        elif isinstance(one, np.ndarray):
            pending += one.ravel().tolist() if one.dtype == object else []
        elif hasattr(one, "__dict__"):
            found.append(one)
            if type(one).__module__.split(".")[0] not in ("pandas", "numpy", "builtins"):
                pending += vars(one).values()
    return found


def registered() -> set[type]:
    """All classes that are lowered."""
    return {*MODELS, *TRANSFORMERS, *WRAPPERS, *PIPELINES, *RESULTS}


def kinds_in(model: Any) -> set[type]:
    """The registered classes that a model is made of."""
    return {type(one) for one in parts_of(model)} & registered()

"""Examples of other libraries for ``labels.py``: boosters, additive models, ONNX and PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tests.frontends.boosters import agreement

from .label_examples import Settings, Trained, _quietly, with_gaps

Made = Iterator[tuple[str, Callable[[], Settings]]]


def _gaps(table: pd.DataFrame) -> pd.DataFrame:
    """A tenth of the numbers and of the categories missing."""
    numbers = [name for name in ("normal", "tenths", "large", "count") if name in table]
    holed = with_gaps(table, numbers)
    rng = np.random.default_rng(12)
    for name in holed.select_dtypes("category"):
        holed[name] = holed[name].where(rng.random(len(holed)) > 0.1)
    return holed


def _numbers(table: pd.DataFrame, dtype: Any = None) -> pd.DataFrame:
    used = table[agreement.NUMBERS]
    return used.astype(dtype) if dtype else used


def _booster(make: Callable[[pd.DataFrame], Any], outcome: str, categories: bool) -> Settings:
    whole = agreement.people(500)
    labels = agreement.target(whole, outcome)

    def trained(table: pd.DataFrame) -> Trained:
        kinds = {name: "categorical" for name in ("code", "flag") if name in table and categories}
        model = _quietly(make(table), table, labels)
        return Trained(model, table, agreement.space_of(table, **kinds))

    if categories:
        return {"columns": lambda: trained(whole), "gaps": lambda: trained(_gaps(whole))}
    return {
        "doubles": lambda: trained(_numbers(whole)),
        "float32": lambda: trained(_numbers(whole, np.float32)),
        "gaps": lambda: trained(_gaps(_numbers(whole))),
    }


def of_xgboost() -> Made:
    """Estimators of XGBoost."""
    from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier, XGBRFRegressor

    from tests.frontends.boosters import test_xgboost_models as tests

    for cls, table in ((XGBClassifier, tests.CLASSES), (XGBRegressor, tests.VALUES)):
        for name, (options, outcome) in table.items():
            yield (
                f"XGBoost: {name}",
                lambda c=cls, o=options, y=outcome, n=name: _booster(
                    lambda t: c(**(tests.SMALL | o)), y, "categories" in n
                ),
            )
    forests = ((XGBRFClassifier, "three"), (XGBRFRegressor, "value"))
    for cls, outcome in forests:
        yield (
            f"XGBoost: {cls.__name__}",
            lambda c=cls, y=outcome: _booster(
                lambda t: c(n_estimators=6, max_depth=4, random_state=0), y, False
            ),
        )
    yield (
        "XGBoost: linear",
        lambda: _booster(
            lambda t: XGBClassifier(booster="gblinear", n_estimators=20), "three", False
        ),
    )


def of_lightgbm() -> Made:
    """Estimators of LightGBM; linear trees too."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    from tests.frontends.boosters import test_lightgbm_models as tests

    for cls, table in ((LGBMClassifier, tests.CLASSES), (LGBMRegressor, tests.VALUES)):
        for name, (options, outcome) in table.items():
            yield (
                f"LightGBM: {name}",
                lambda c=cls, o=options, y=outcome, n=name: _booster(
                    lambda t: c(**(tests.SMALL | o)), y, "categories" in n
                ),
            )
        linear = tests.SMALL | {"linear_tree": True}
        outcome = "two" if cls is LGBMClassifier else "value"
        yield (
            f"LightGBM: linear trees, {outcome}",
            lambda c=cls, o=linear, y=outcome: _booster(lambda t: c(**o), y, False),
        )


def of_catboost() -> Made:
    """Estimators of CatBoost."""
    from catboost import CatBoost, CatBoostClassifier, CatBoostRegressor

    from tests.frontends.boosters import test_catboost_models as tests

    for name, (options, outcome, held) in tests.CLASSES.items():
        yield (
            f"CatBoost: {name}",
            lambda o=options, y=outcome, h=held: _cat(CatBoostClassifier, tests.SMALL | o, y, h),
        )
    for name, (options, outcome) in tests.VALUES.items():
        yield (
            f"CatBoost: {name} (regressor)",
            lambda o=options, y=outcome: _cat(CatBoostRegressor, tests.SMALL | o, y, tests.COLUMNS),
        )
    yield "CatBoost: CatBoost", lambda: _cat(CatBoost, tests.SMALL, "value", [])


def _cat(cls: Any, options: dict[str, Any], outcome: str, held: list[str]) -> Settings:
    if held:
        options = {**options, "cat_features": held}
        if cls.__name__ == "CatBoostRegressor":
            options["max_ctr_complexity"] = 1
    whole = agreement.people(500)

    def trained(table: pd.DataFrame) -> Trained:
        kinds = {name: "categorical" for name in ("code", "flag") if name in table and held}
        model = cls(**options).fit(table, agreement.target(whole, outcome))
        return Trained(model, table, agreement.space_of(table, **kinds))

    if held:
        numbers = ["normal", "tenths", "large"]
        return {
            "columns": lambda: trained(whole),
            "gaps": lambda: trained(with_gaps(whole, numbers)),
        }
    return {
        "doubles": lambda: trained(_numbers(whole)),
        "float32": lambda: trained(_numbers(whole, np.float32)),
        "gaps": lambda: trained(_gaps(_numbers(whole))),
    }


def of_interpret() -> Made:
    """Explainable boosting machines."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    from tests.frontends.libraries import test_additive as tests

    for cls, outcome, more in (
        (ExplainableBoostingClassifier, "two", {}),
        (ExplainableBoostingClassifier, "three", {"interactions": 0}),
        (ExplainableBoostingRegressor, "amount", {}),
        (ExplainableBoostingRegressor, "amount", {"objective": "gamma_deviance"}),
    ):
        options = tests.SMALL | more
        name = f"interpret: {cls.__name__} {outcome} {more or ''}"
        yield name, lambda c=cls, o=options, y=outcome: _machine(c, o, y)


def _machine(cls: Any, options: dict[str, Any], outcome: str) -> Settings:
    own = _booster(lambda t: cls(**options), outcome, False)
    mixed = _booster(lambda t: cls(**options), outcome, True)
    return {"columns": mixed["columns"], **own}


def of_imblearn() -> Made:
    """Pipelines and ensembles of imbalanced-learn."""
    from imblearn import ensemble
    from imblearn.over_sampling import RandomOverSampler
    from imblearn.pipeline import make_pipeline as made

    from tests.frontends.libraries.test_imbalanced import PIPED

    for name, model in PIPED.items():
        yield (
            f"imbalanced-learn: {name}",
            lambda m=model: _booster(
                lambda t: made(RandomOverSampler(random_state=0), clone(m)), "two", False
            ),
        )
    for name in ("BalancedBaggingClassifier", "BalancedRandomForestClassifier",
                 "EasyEnsembleClassifier", "RUSBoostClassifier"):  # fmt: skip
        yield (
            f"imbalanced-learn: {name}",
            lambda n=name: _booster(
                lambda t: getattr(ensemble, n)(n_estimators=4, random_state=0), "three", False
            ),
        )


def of_category_encoders() -> Made:
    """Encoders of category_encoders before a linear model and boosted trees."""
    import category_encoders
    from sklearn.ensemble import GradientBoostingClassifier

    from tests.frontends.libraries import test_encoders as tests

    def trained(name: str, final: Any) -> Trained:
        table, two = tests.trained()
        encoder = getattr(category_encoders, name)(cols=["sector", "code"])
        model = _quietly(make_pipeline(encoder, final), table, two)
        return Trained(model, tests.people(2000, seed=2), tests.space())

    for name in tests.NAMES:
        if name == "GLMMEncoder" and find_spec("statsmodels") is None:
            continue
        yield (
            f"category_encoders: {name}",
            lambda n=name: {
                "linear": lambda: trained(n, LogisticRegression()),
                "trees": lambda: trained(
                    n, GradientBoostingClassifier(n_estimators=8, random_state=0)
                ),
            },
        )


def of_statsmodels() -> Made:
    """Fitted results of statsmodels, of tables and of formulae."""
    from statsmodels.formula.api import logit

    from tests.frontends.libraries import test_statistical as tests

    space, numbers = tests.SPACE.subset(["a", "b"]), tests.NUMBERS
    for name, make in {**tests.CLASSIFIERS, **tests.REGRESSORS}.items():
        yield (
            f"statsmodels: {name}",
            lambda m=make: {"numbers": lambda: Trained(tests.fitted(m()), numbers, space)},
        )
    for formula, used in tests.FORMULAE.items():
        yield (
            f"statsmodels: {formula}",
            lambda f=formula, u=used: {
                "formula": lambda: Trained(
                    logit(f, tests.TABLE.assign(y=tests.TWO)).fit(disp=0),
                    tests.TABLE[u],
                    tests.SPACE.subset(u),
                )
            },
        )


def of_linear_tree() -> Made:
    """Trees of linear-tree, which needs scikit-learn < 1.7."""
    import sklearn
    from sklearn.linear_model import Ridge, RidgeClassifier

    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 7):
        return
    from lineartree import LinearTreeClassifier, LinearTreeRegressor

    from tests.frontends.libraries import test_linear_trees as tests

    def trained(tree: Any, outcome: Any) -> Trained:
        return Trained(_quietly(tree, tests.TABLE, outcome), tests.TABLE, tests.SPACE)

    def classifier(base: Any) -> Settings:
        tree = LinearTreeClassifier(base, **tests.SMALL)
        return {
            "two": lambda: trained(clone(tree), tests.TWO),
            "three": lambda: trained(clone(tree), tests.THREE),
        }

    for base in (LogisticRegression(), RidgeClassifier()):
        name = type(base).__name__
        yield f"linear-tree: {name}", lambda b=base: classifier(b)
    tree = LinearTreeRegressor(Ridge(), **tests.SMALL)
    yield "linear-tree: Ridge", lambda: {"numbers": lambda: trained(clone(tree), tests.WORTH)}


def of_onnx() -> Made:
    """What skl2onnx writes of the usual models, in single floats and in doubles."""
    from tests.frontends.onnx import test_onnx_models as tests

    def trained(name: str, model: Any, dtype: str, regressor: bool) -> Trained:
        frame = tests.FRAME
        scaled = (frame - frame.mean()) / frame.std()
        labels = (scaled.x0 + scaled.x1) if regressor else tests.target(frame, 3)
        options = {} if regressor or name == "svc" else {"zipmap": False}
        proto = tests.exported(model, labels, dtype, **options)
        table = frame.astype(np.float32) if dtype == "float" else frame
        return Trained(proto, table, agreement.space_of(table))

    machines = {f"machine, {name}": model for name, model in tests.MACHINES.items()}
    classifiers = {**tests.CLASSIFIERS, **machines}
    of_values = {f"machine, {name}": model for name, model in tests.MACHINES_OF_VALUES.items()}
    regressors = {**tests.REGRESSORS, **of_values}
    for of, held in (("classifier", classifiers), ("regressor", regressors)):
        for name, model in held.items():
            single = name == "svc" or (name in of_values and of == "regressor")
            dtypes = ["float"] if single else ["float", "double"]
            yield (
                f"ONNX: {name} ({of})",
                lambda n=name, m=model, d=dtypes, r=of: {
                    dtype: (lambda t=dtype: trained(n, m, t, r == "regressor")) for dtype in d
                },
            )


def of_torch() -> Made:
    """Functions, layers and small networks of PyTorch."""
    import torch
    from torch import nn

    from tests.frontends.pytorch import test_torch_modules as tests

    def trained(make: Callable[[], Any], task: str) -> Trained:
        torch.manual_seed(0)
        table = tests.FRAME
        return Trained(
            make().eval(), table, agreement.space_of(table, code="categorical"), {"task": task}
        )

    for name, function in tests.FUNCTIONS.items():
        yield (
            f"PyTorch: {name}",
            lambda f=function: {"numbers": lambda: trained(lambda: tests.Of(f), "regressor")},
        )
    for name, layer in tests.LAYERS.items():
        yield f"PyTorch: {name}", lambda make=layer: {"numbers": lambda: trained(make, "regressor")}
    for act in (nn.ReLU, nn.GELU, nn.Tanh, nn.Sigmoid):
        for classes in (1, 3):
            yield (
                f"PyTorch: network, {act.__name__}, {classes}",
                lambda a=act, c=classes: {
                    "labels": lambda: trained(
                        lambda: nn.Sequential(
                            nn.BatchNorm1d(4, affine=False), nn.Linear(4, 6), a(), nn.Linear(6, c)
                        ),
                        "classifier",
                    )
                },
            )


LIBRARIES: dict[str, Callable[[], Made]] = {
    "xgboost": of_xgboost, "lightgbm": of_lightgbm, "catboost": of_catboost,
    "interpret": of_interpret, "imblearn": of_imblearn,
    "category_encoders": of_category_encoders, "statsmodels": of_statsmodels,
    "lineartree": of_linear_tree,
    "skl2onnx": of_onnx, "torch": of_torch,
}  # fmt: skip


def of_libraries() -> Made:
    """The examples of all libraries that are installed."""
    for library, made in LIBRARIES.items():
        if find_spec(library) is not None:
            import_module(library)
            yield from made()


__all__ = ["of_libraries"]

"""A model, a person and answers of every status, for letters to be written about."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.answers.letters import Letter
from cfxc.answers.reasons import Reasons
from cfxc.answers.result import Result

FIELDS: dict[str, dict[str, Any]] = {
    "plain": {"sender": "A Bank\n1 Main Street", "contact": "help@example.org"},
    "adverse-action": {
        "creditor": "A Bank\n1 Main Street", "action": "Your application was declined.",
        "agency": ["Bureau of Consumer Financial Protection", "1700 G Street NW"],
        "contact": "Loan office, 1 Main Street, 555-0100",
    },
    "european": {
        "controller": "A Bank", "contact": "help@example.org", "role": "assisted",
        "system": "Model 3", "authority": "The authority", "officer": "dpo@example.org",
    },
}  # fmt: skip
COMMON = {"recipient": "A. Person", "reference": "7", "date": "2026-11-25", "signature": "B. Clerk"}
STATUSES = ("optimal", "feasible", "unproved", "infeasible", "unknown", "unexplained", "several")
HASH = re.compile(r"\b[0-9a-f]{64}\b")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "pay": rng.normal(3000, 900, 300).round(2),
            "sector": rng.choice(["it", "law", "art"], 300),
            "member": rng.integers(0, 2, 300).astype(bool),
        }
    )


def fitted() -> cfxc.CompiledModel:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    X = table()
    worth = X["pay"] / 100 + 8 * (X["sector"] == "it") + X["age"] / 10
    encode = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
    tree = make_pipeline(encode, DecisionTreeClassifier(max_depth=4, random_state=0))
    tree.fit(X, np.where(worth > 40, "granted", "refused"))
    space = cfxc.FeatureSpace.infer(X, fixed=["age"])
    space = space.replace("pay", label="monthly pay", unit="€", format="#,##0.00")
    space = space.replace("age", label="age", unit="years")
    return cfxc.compile(tree, space, favourable="granted")


def person(model: cfxc.CompiledModel) -> pd.DataFrame:
    """Somebody whose pay or sector could have changed the outcome, each alone."""
    X = table()
    X = X[(model.predict(X) == "refused") & (model.predict(X.assign(sector="it")) == "granted")]
    return X.iloc[[0]]


def answers_of(model: cfxc.CompiledModel) -> dict[str, Result]:
    row = person(model)
    found = model.explain(row)
    assert found.status == "optimal"
    assert found.exact_distance is not None
    low = found.exact_distance * Fraction(2, 3)
    nothing: dict[str, Any] = {
        "counterfactual": None, "distance": None, "exact_distance": None, "reason": "out of time",
        "exact_lower_bound": Fraction(0), "lower_bound": 0.0, "lower_bound_proof": "none",
        "status": "unknown",
    }  # fmt: skip
    unproved = {name: nothing[name] for name in ("exact_lower_bound", "lower_bound_proof")}
    made = {
        "optimal": found,
        "feasible": replace(found, status="feasible", exact_lower_bound=low),
        "unproved": replace(found, status="feasible", **unproved),
        "infeasible": model.explain(
            row, subject_to=["pay == factual.pay", "sector == factual.sector"]
        ),
        "unknown": replace(found, **nothing, evidence=replace(found.evidence, status="unknown")),
        "several": model.explain(row, count=2, diversity="features"),
    }
    assert made["infeasible"].status == "infeasible"
    assert made["infeasible"].relaxed is not None
    assert len(made["several"].alternatives) == 1
    made["unexplained"] = replace(made["unknown"])
    made["unexplained"].__dict__["reasons"] = Reasons((), "unknown")
    return made


def page(
    answer: Result, template: str = "plain", locale: str = "en", certificate: bool = True,
    **fields: Any,
) -> str:  # fmt: skip
    own = {**FIELDS[template], **COMMON, **fields}
    return Letter("l.html", template, locale, own).page(answer, certificate=certificate)


def plain(page: str) -> str:
    """The text of a page, a line a block; hashes, which versions are part of, as one word."""
    body = page.split("<body>")[1]
    body = re.sub(r"<(br|/p|/li|/h\d|/tr|/th|/td)[^>]*>", r"\n", body)
    lines = (re.sub(r"[ \t\n]+", " ", html.unescape(re.sub(r"<[^>]*>", "", one)))
             for one in body.split("\n"))  # fmt: skip
    return HASH.sub("HASH", "\n".join(line.strip(" ") for line in lines if line.strip(" "))) + "\n"


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.html"
    path.write_text(text, "utf-8")
    return path

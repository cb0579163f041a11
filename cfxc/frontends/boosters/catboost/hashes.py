"""The numbers by which CatBoost knows categories: it hashes their text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import catboost
import pandas as pd

from ....space import Label

COLUMN = "category"
EMPTY = {
    "model_info": {},
    "oblivious_trees": [],
    "features_info": {
        "categorical_features": [
            {"feature_index": 0, "flat_feature_index": 0, "feature_id": COLUMN}
        ]
    },
    "scale_and_bias": [1, [0]],
}
"""A model without trees: what the library saves of it lists the hashes of a table."""


def text_of(label: Label) -> str:
    """A category as the library writes it: truth values are 0 and 1."""
    return label if isinstance(label, str) else str(int(label or 0))


def hashes_of(labels: Sequence[Label]) -> dict[str, int]:
    """The hash, of 32 bits, of the text of each label."""
    texts = sorted({text_of(label) for label in labels})
    if not texts:
        return {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps(EMPTY))
        model = catboost.CatBoost().load_model(str(path), format="json")
        table = pd.DataFrame({COLUMN: pd.Series(texts, dtype=object)})
        pool = catboost.Pool(table, cat_features=[COLUMN])
        model.save_model(str(path), format="json", pool=pool)
        found = json.loads(path.read_text())["features_info"]["cat_features_hash"]
    return {one["value"]: int(one["hash"]) for one in found}

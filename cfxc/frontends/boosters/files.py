"""Booster files: checked here, before the library opens them.

The libraries take the indices in a file as they are, so a file that contradicts itself could make
them read anywhere.  They are given what was checked, written anew.  None of the formats holds code.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...errors import ModelFileError, UnsupportedError, needs
from ..skops_file import damaged
from .catboost.binary import parse_binary
from .catboost.document import BINARY, SEVERAL
from .catboost.document import Document as CatDocument
from .catboost.document import parse_json as parse_catboost
from .catboost.document import read_model as read_catboost
from .catboost.rewriting import leaves_of, lost_fractions
from .catboost.rewriting import rewritten as rewritten_catboost
from .forest import DamagedModelError
from .lightgbm.text import LgbModel, read_text, rewritten_text
from .xgboost.document import Document, XgbModel, parse_document, read_model
from .xgboost.rewriting import rewritten

CATBOOST = b'"features_info"'  # which no other library's JSON has
KINDS = {"": "Booster", "classifier": "XGBClassifier", "regressor": "XGBRegressor"}


def open_booster(path: Path) -> Any:
    """The model in an XGBoost, LightGBM or CatBoost file: ``.json``, ``.ubj``, ``.txt``, ``.cbm``.

    What an XGBoost estimator saved, and every CatBoost model, opens as an estimator, and predicts
    as it did; everything else opens as a native booster.

    Raises:
        ModelFileError: the file is of another kind, truncated or inconsistent.
        UnsupportedError: an XGBoost estimator of another kind saved it.
        MissingExtraError: the library is not installed.
    """
    content = path.read_bytes()
    try:
        if path.suffix.lower() == ".txt":
            return _open_lightgbm(path, content, read_text(content))
        if path.suffix.lower() == ".cbm":
            return _open_catboost(path, parse_binary(content))
        if path.suffix.lower() == ".json" and CATBOOST in content:
            return _open_catboost(path, parse_catboost(content))
        document = parse_document(content, binary=path.suffix.lower() == ".ubj")
        return _open_xgboost(path, document, read_model(document))
    except DamagedModelError as error:
        raise ModelFileError(f"{path}: cannot be opened: {error}") from error


def _open_xgboost(path: Path, document: Document, model: XgbModel) -> Any:
    with needs("boosters", f"{path.name}: reading it", "xgboost"):
        import xgboost
    if model.saved_by not in KINDS:
        raise UnsupportedError(f"{path}: an XGBoost {model.saved_by} cannot be compiled")
    if model.flaws:
        raise UnsupportedError(f"{path}: this XGBoost model cannot be compiled", model.flaws)
    content = rewritten(document, model)
    made = getattr(xgboost, KINDS[model.saved_by])()
    try:
        made.load_model(bytearray(content))
    except Exception as error:  # the library's own errors share no base but this one
        raise damaged(path, error) from error
    return made


def _open_lightgbm(path: Path, content: bytes, model: LgbModel) -> Any:
    with needs("boosters", f"{path.name}: reading it", "lightgbm"):
        import lightgbm
    if model.flaws:
        raise UnsupportedError(f"{path}: this LightGBM model cannot be compiled", model.flaws)
    text = rewritten_text(content, model)
    try:
        return lightgbm.Booster(model_str=text)
    except Exception as error:  # the library's own errors share no base but this one
        raise damaged(path, error) from error


FRACTIONS = (
    "its CTRs are means of the target, which the library opens as whole numbers; compile the "
    "estimator itself, or train it with other CTRs (simple_ctr='Borders')"
)


def _open_catboost(path: Path, document: CatDocument) -> Any:
    model = read_catboost(document)
    with needs("catboost", f"{path.name}: reading it", "catboost"):
        import catboost
    if model.flaws:
        raise UnsupportedError(f"{path}: this CatBoost model cannot be compiled", model.flaws)
    if lost_fractions(document):
        raise UnsupportedError(f"{path}: this CatBoost model cannot be compiled", [FRACTIONS])
    content = rewritten_catboost(document, model)
    classifies = model.loss in (*BINARY, *SEVERAL)
    made = (catboost.CatBoostClassifier if classifies else catboost.CatBoostRegressor)()
    with TemporaryDirectory() as folder:
        written = Path(folder) / "model.json"
        written.write_bytes(content)
        try:
            made.load_model(str(written), format="json")
            if path.suffix.lower() == ".cbm":  # the library rounds numbers in JSON, but not these
                made.set_leaf_values(leaves_of(document, model))
                made.set_scale_and_bias(model.scale, model.bias.tolist())
        except Exception as error:  # the library's own errors share no base but this one
            raise damaged(path, error) from error
    return made

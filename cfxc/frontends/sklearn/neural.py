"""Multi-layer perceptrons: affine maps and activations; the last activation only if asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

from ...ir import Op, Operand, ops
from .lowering import Lowering, tensor
from .outputs import binary_label, pair, top_label, values
from .registry import Estimator, Outputs, model
from .table import Ref

ACTIVATIONS: dict[str, Callable[[Operand], Op] | None] = {
    "identity": None,
    "relu": ops.Relu,
    "logistic": ops.Sigmoid,
    "tanh": ops.Tanh,
}
OUTPUT_ACTIVATIONS: dict[str, Callable[[Operand], Op] | None] = {"identity": None, "exp": ops.Exp}


def _last_layer(lowering: Lowering, network: Estimator, refs: tuple[Ref, ...]) -> str:
    """What the last layer computes, before the output activation."""
    lowering.check_double(refs, *network.coefs_)
    x = lowering.vector(refs)
    activation = ACTIVATIONS[network.activation]
    last = len(network.coefs_) - 1
    for layer, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
        wide = weight.T.astype(np.float64), bias.astype(np.float64)
        x = lowering.let(ops.Affine(x, *map(tensor, wide)))
        if activation and layer < last:
            x = lowering.let(activation(x))
    return x


def _unknown_activation(network: Estimator) -> Iterator[str]:
    if network.activation not in ACTIVATIONS:
        yield f"activation {network.activation!r} is not supported"


def _classifier_flaws(network: Estimator) -> Iterator[str]:
    yield from _unknown_activation(network)
    if network._label_binarizer.y_type_.startswith("multilabel"):
        yield "multi-label classification is not supported; train one model per label"
    elif network.out_activation_ not in ("logistic", "softmax"):
        yield f"output activation {network.out_activation_!r} is not supported"


def _regressor_flaws(network: Estimator) -> Iterator[str]:
    yield from _unknown_activation(network)
    if network.out_activation_ not in OUTPUT_ACTIVATIONS:
        yield f"output activation {network.out_activation_!r} is not supported"


@model("classifier", MLPClassifier, flaws=_classifier_flaws)
def lower_mlp_classifier(lowering: Lowering, network: Estimator, refs: tuple[Ref, ...]) -> Outputs:
    """Label from the logits (the output activation is increasing), logits, probabilities."""
    logits = _last_layer(lowering, network, refs)
    if network.out_activation_ == "softmax":
        label = top_label(lowering, network.classes_, logits)
        shares = lowering.let(ops.Softmax(logits))
        return {"label": label, "score": logits, "probability": shares}
    logit = lowering.let(ops.Item(logits, 0))
    label = binary_label(lowering, network.classes_, logit)
    share = lowering.let(ops.Sigmoid(logit))
    return {"label": label, "score": logit, "probability": pair(lowering, share)}


@model("regressor", MLPRegressor, flaws=_regressor_flaws)
def lower_mlp_regressor(lowering: Lowering, network: Estimator, refs: tuple[Ref, ...]) -> Outputs:
    """``value``: one number, or one per target."""
    value = _last_layer(lowering, network, refs)
    if activation := OUTPUT_ACTIVATIONS[network.out_activation_]:
        value = lowering.let(activation(value))
    return {"value": values(lowering, value, network.n_outputs_)}

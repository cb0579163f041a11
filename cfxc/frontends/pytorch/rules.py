"""The rules that lower aten ops, most of them as ops of ONNX over what they are given."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..onnx.values import Refusal
from .moving import SIZED
from .table import RULES, rule

if TYPE_CHECKING:
    from .lowering import Lowering

aten = torch.ops.aten
SIXTH = Fraction(1, 6)
# --- elementwise -------------------------------------------------------------------------------

UNARY = {
    aten.neg.default: "Neg", aten.abs.default: "Abs", aten.relu.default: "Relu",
    aten.sigmoid.default: "Sigmoid", aten.tanh.default: "Tanh", aten.exp.default: "Exp",
    aten.erf.default: "Erf", aten.silu.default: "Swish", aten.mish.default: "Mish",
    aten.hardswish.default: "HardSwish", aten.selu.default: "Selu", aten.sign.default: "Sign",
    aten.logical_not.default: "Not", aten.bitwise_not.default: "Not",
}  # fmt: skip
BINARY = {
    aten.mul.Tensor: "Mul", aten.mul.Scalar: "Mul", aten.div.Tensor: "Div", aten.div.Scalar: "Div",
    aten.maximum.default: "Max", aten.minimum.default: "Min",
    aten.logical_and.default: "And", aten.logical_or.default: "Or",
    aten.bitwise_and.Tensor: "And", aten.bitwise_or.Tensor: "Or",
}  # fmt: skip
COMPARED = {
    aten.lt.Tensor: "Less", aten.lt.Scalar: "Less", aten.le.Tensor: "LessOrEqual",
    aten.le.Scalar: "LessOrEqual", aten.gt.Tensor: "Greater", aten.gt.Scalar: "Greater",
    aten.ge.Tensor: "GreaterOrEqual", aten.ge.Scalar: "GreaterOrEqual",
    aten.eq.Tensor: "Equal", aten.eq.Scalar: "Equal",
}  # fmt: skip


@rule(*UNARY)
def _unary(low: Lowering, x: Any) -> Any:
    return low.onnx(UNARY[low.node.target], *low.numbers(x))


@rule(*BINARY)
def _binary(low: Lowering, x: Any, y: Any) -> Any:
    return low.onnx(BINARY[low.node.target], *low.numbers(x, y))


@rule(*COMPARED)
def _compared(low: Lowering, x: Any, y: Any) -> Any:
    return low.onnx(COMPARED[low.node.target], *low.compared(x, y))


@rule(aten.ne.Tensor, aten.ne.Scalar)
def _differs(low: Lowering, x: Any, y: Any) -> Any:
    return low.onnx("Not", low.onnx("Equal", *low.compared(x, y)))


@rule(aten.add.Tensor, aten.add.Scalar)
def _add(low: Lowering, x: Any, y: Any, alpha: Any = 1) -> Any:
    first, second = low.numbers(x, y)
    return low.onnx("Add", first, _scaled(low, second, alpha))


@rule(aten.sub.Tensor, aten.sub.Scalar)
def _sub(low: Lowering, x: Any, y: Any, alpha: Any = 1) -> Any:
    first, second = low.numbers(x, y)
    return low.onnx("Sub", first, _scaled(low, second, alpha))


@rule(aten.rsub.Scalar, aten.rsub.Tensor)
def _rsub(low: Lowering, x: Any, y: Any, alpha: Any = 1) -> Any:
    first, second = low.numbers(x, y)
    return low.onnx("Sub", second, _scaled(low, first, alpha))


def _scaled(low: Lowering, value: Any, factor: Any) -> Any:
    if factor == 1:
        return value
    (number,) = low.numbers(factor)
    return value * number if isinstance(value, np.ndarray) else low.onnx("Mul", value, number)


@rule(aten.pow.Tensor_Scalar, aten.square.default)
def _pow(low: Lowering, x: Any, exponent: Any = 2) -> Any:
    return low.onnx("Pow", *low.numbers(x), np.float64(exponent))


@rule(aten.reciprocal.default)
def _reciprocal(low: Lowering, x: Any) -> Any:
    return low.onnx("Div", *low.numbers(1.0, x))


@rule(aten.leaky_relu.default)
def _leaky_relu(low: Lowering, x: Any, negative_slope: float = 0.01) -> Any:
    return low.onnx("LeakyRelu", *low.numbers(x), alpha=low.real(negative_slope))


@rule(aten.prelu.default)
def _prelu(low: Lowering, x: Any, weight: Any) -> Any:
    rank = len(low.sizes)
    slopes = weight if weight.size == 1 else weight.reshape(-1, *[1] * max(rank - 2, 0))
    return low.onnx("PRelu", *low.numbers(x), slopes)


@rule(aten.elu.default)
def _elu(low: Lowering, x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    if input_scale != 1:
        raise Refusal(f"input_scale = {input_scale}")
    found = low.onnx("Elu", *low.numbers(x), alpha=low.real(alpha))
    return _scaled(low, found, scale)


@rule(aten.celu.default)
def _celu(low: Lowering, x: Any, alpha: Any = 1.0) -> Any:
    return low.onnx("Celu", *low.numbers(x), alpha=low.real(alpha))


@rule(aten.gelu.default)
def _gelu(low: Lowering, x: Any, approximate: str = "none") -> Any:
    return low.onnx("Gelu", *low.numbers(x), approximate=approximate)


@rule(aten.hardsigmoid.default)
def _hard_sigmoid(low: Lowering, x: Any) -> Any:
    return low.onnx("HardSigmoid", *low.numbers(x), alpha=SIXTH, beta=0.5)


@rule(aten.softplus.default)
def _softplus(low: Lowering, x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    """log(1 + exp(βx)) / β; above the threshold torch gives x, which single floats cannot tell."""
    if low.dtype != "float" or float(threshold) < 20:
        raise Refusal(
            f"switches to x above {threshold}, which jumps by more than rounding; softplus(x, "
            "threshold=20) in single floats does not"
        )
    (rows,) = low.numbers(x)
    found = low.onnx("Softplus", _scaled(low, rows, beta))
    return found if beta == 1 else low.onnx("Div", found, *low.numbers(beta))


@rule(aten.log_sigmoid.default)
def _log_sigmoid(low: Lowering, x: Any) -> Any:
    (rows,) = low.numbers(x)
    return low.onnx("Neg", low.onnx("Softplus", low.onnx("Neg", rows)))


@rule(aten.clamp.default, aten.hardtanh.default)
def _clamp(low: Lowering, x: Any, min: Any = None, max: Any = None, **more: Any) -> Any:
    ends = (min, max)
    if low.node.target is aten.hardtanh.default:
        ends = (-1 if min is None else min, 1 if max is None else max)
        ends = (more.get("min_val", ends[0]), more.get("max_val", ends[1]))
    given = [None if end is None else low.numbers(end)[0] for end in ends]
    return low.onnx("Clip", *low.numbers(x), *given)


@rule(aten.clamp_min.default)
def _clamp_min(low: Lowering, x: Any, min: Any) -> Any:
    return low.onnx("Clip", *low.numbers(x, min), None)


@rule(aten.clamp_max.default)
def _clamp_max(low: Lowering, x: Any, max: Any) -> Any:
    return low.onnx("Clip", *low.numbers(x), None, *low.numbers(max))


@rule(aten.relu6.default)
def _relu6(low: Lowering, x: Any) -> Any:
    return low.onnx("Clip", *low.numbers(x, 0.0, 6.0))


@rule(aten.threshold.default)
def _threshold(low: Lowering, x: Any, threshold: Any, value: Any) -> Any:
    number, at, other = low.numbers(x, threshold, value)
    return low.onnx("Where", low.onnx("Greater", number, at), number, other)


@rule(aten.hardshrink.default)
def _hard_shrink(low: Lowering, x: Any, lambd: Any = 0.5) -> Any:
    return low.onnx("Shrink", *low.numbers(x), bias=0.0, lambd=low.real(lambd))


@rule(aten.softshrink.default)
def _soft_shrink(low: Lowering, x: Any, lambd: Any = 0.5) -> Any:
    return low.onnx("Shrink", *low.numbers(x), bias=low.real(lambd), lambd=low.real(lambd))


@rule(aten.where.self)
def _where(low: Lowering, condition: Any, x: Any, y: Any) -> Any:
    return low.onnx("Where", condition, *low.numbers(x, y))


# --- normalisation and products ----------------------------------------------------------------


@rule(aten.softmax.int, aten._softmax.default)
def _softmax(low: Lowering, x: Any, dim: int, *more: Any, **options: Any) -> Any:
    return low.onnx("Softmax", *low.numbers(x), axis=dim)


@rule(aten.log_softmax.int, aten._log_softmax.default)
def _log_softmax(low: Lowering, x: Any, dim: int, *more: Any, **options: Any) -> Any:
    return low.onnx("LogSoftmax", *low.numbers(x), axis=dim)


@rule(aten.layer_norm.default, aten.native_layer_norm.default)
def _layer_norm(low: Lowering, x: Any, *more: Any) -> Any:
    return low.onnx("LayerNormalization", x)


@rule(aten._native_batch_norm_legit_no_training.default)
def _batch_norm(
    low: Lowering, x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: Any, eps: float
) -> Any:
    scale = np.ones_like(var) if weight is None else weight
    shift = np.zeros_like(var) if bias is None else bias
    x = low.context.numeric(x)
    found = low.onnx("BatchNormalization", x, scale, shift, mean, var, epsilon=eps)
    return (found, None, None)


@rule(aten.linear.default)
def _linear(low: Lowering, x: Any, weight: Any, bias: Any = None) -> Any:
    (rows,) = low.numbers(x)
    if not isinstance(weight, np.ndarray):
        raise Refusal("its weight depends on the inputs")
    product = low.onnx("MatMul", rows, weight.T)
    return product if bias is None else low.onnx("Add", product, bias)


@rule(aten.mm.default, aten.matmul.default, aten.mv.default, aten.bmm.default)
def _matmul(low: Lowering, x: Any, y: Any) -> Any:
    return low.onnx("MatMul", *low.numbers(x, y))


@rule(aten.addmm.default)
def _addmm(low: Lowering, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = _scaled(low, low.onnx("MatMul", *low.numbers(x, y)), alpha)
    (shift,) = low.numbers(bias)
    return low.onnx("Add", product, _scaled(low, shift, beta))


def _each(value: Any, rank: int) -> list[int]:
    values = list(value) if isinstance(value, Sequence) else [value]
    return values * rank if len(values) == 1 else values


@rule(
    aten.conv1d.default, aten.conv2d.default, aten.conv3d.default,
    aten.conv1d.padding, aten.conv2d.padding, aten.conv3d.padding,
)  # fmt: skip
def _conv(
    low: Lowering, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    rank = np.ndim(weight) - 2
    options: dict[str, Any] = {"strides": _each(stride, rank), "dilations": _each(dilation, rank)}
    if padding == "same":
        wide = [d * (k - 1) for d, k in zip(options["dilations"], weight.shape[2:], strict=True)]
        options["pads"] = [size // 2 for size in wide] + [size - size // 2 for size in wide]
    elif padding != "valid":
        options["pads"] = _each(padding, rank) * 2
    return low.onnx("Conv", *low.numbers(x), weight, bias, group=groups, **options)


@rule(aten.convolution.default)
def _convolution(
    low: Lowering, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    if transposed:
        raise Refusal("transposes the convolution")
    return _conv(low, x, weight, bias, stride, padding, dilation, groups)


@rule(aten.max_pool1d.default, aten.max_pool2d.default, aten.max_pool3d.default)
def _max_pool(
    low: Lowering, x: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    rank = len(low.sizes) - 2
    kernel = _each(kernel_size, rank)
    return low.onnx(
        "MaxPool", *low.numbers(x), kernel_shape=kernel, strides=_each(stride or kernel, rank),
        pads=_each(padding, rank) * 2, dilations=_each(dilation, rank), ceil_mode=int(ceil_mode),
    )  # fmt: skip


@rule(aten.avg_pool1d.default, aten.avg_pool2d.default, aten.avg_pool3d.default)
def _avg_pool(
    low: Lowering, x: Any, kernel_size: Any, stride: Any = (), padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    if divisor_override is not None:
        raise Refusal(f"divisor_override = {divisor_override}")
    rank = len(low.sizes) - 2
    kernel = _each(kernel_size, rank)
    return low.onnx(
        "AveragePool", *low.numbers(x), kernel_shape=kernel, strides=_each(stride or kernel, rank),
        pads=_each(padding, rank) * 2, ceil_mode=int(ceil_mode),
        count_include_pad=int(count_include_pad),
    )  # fmt: skip


@rule(aten.adaptive_avg_pool1d.default, aten.adaptive_avg_pool2d.default)
def _adaptive_avg_pool(low: Lowering, x: Any, output_size: Any) -> Any:
    (rows,) = low.numbers(x)
    sizes = list(rows.dims[-len(output_size) :])
    if any(size is None or size % out for size, out in zip(sizes, output_size, strict=True)):
        raise Refusal(f"pools {sizes} to {list(output_size)}, which is no divisor")
    kernel = [size // out for size, out in zip(sizes, output_size, strict=True)]
    return low.onnx("AveragePool", rows, kernel_shape=kernel, strides=kernel)


# --- reductions --------------------------------------------------------------------------------

REDUCED = {
    aten.mean.dim: "ReduceMean", aten.sum.dim_IntList: "ReduceSum", aten.amax.default: "ReduceMax",
    aten.amin.default: "ReduceMin",
}  # fmt: skip


@rule(*REDUCED)
def _reduced(low: Lowering, x: Any, dim: Any = None, keepdim: bool = False, **more: Any) -> Any:
    axes = None if not dim else np.array(dim)
    return low.onnx(REDUCED[low.node.target], *low.numbers(x), axes, keepdims=int(keepdim))


@rule(aten.mean.default, aten.sum.default, aten.max.default, aten.min.default)
def _of_everything(low: Lowering, x: Any, **more: Any) -> Any:
    raise Refusal("mixes different rows of the batch; name the axes: dim=1")


@rule(aten.max.dim, aten.min.dim)
def _extreme(low: Lowering, x: Any, dim: int, keepdim: bool = False) -> Any:
    op = "ReduceMax" if low.node.target is aten.max.dim else "ReduceMin"
    rows = low.context.numeric(x)
    value = low.onnx(op, rows, np.array([dim]), keepdims=int(keepdim))
    if not any(user.args[1] == 1 for user in low.node.users):
        return value, None
    if op == "ReduceMin":
        rows = low.onnx("Neg", rows)
    return value, low.onnx("ArgMax", rows, axis=dim, keepdims=int(keepdim))


@rule(aten.argmax.default)
def _argmax(low: Lowering, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        raise Refusal("mixes different rows of the batch; name the axis: dim=1")
    return low.onnx("ArgMax", low.context.numeric(x), axis=dim, keepdims=int(keepdim))


__all__ = ["RULES", "SIZED"]

"""The rules that lower aten ops, most of them as ops of ONNX over what they are given."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..onnx.values import Refusal
from .table import RULES, rule

if TYPE_CHECKING:
    from .lowering import Lowering

aten = torch.ops.aten
SIXTH = Fraction(1, 6)
SIZED = (aten.full.default, aten.zeros.default, aten.ones.default)
"""Constants whose sizes may name the rows."""

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


@rule(aten.pow.Tensor_Scalar)
def _pow(low: Lowering, x: Any, exponent: Any) -> Any:
    return low.onnx("Pow", *low.numbers(x), np.float64(exponent))


@rule(aten.square.default)
def _square(low: Lowering, x: Any) -> Any:
    return low.onnx("Pow", *low.numbers(x), np.float64(2))


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


# --- moving elements ---------------------------------------------------------------------------


@rule(
    aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten.flatten.using_ints,
    aten.unflatten.int, aten.squeeze.dim, aten.squeeze.dims, aten.squeeze.default,
    aten.unsqueeze.default,
)  # fmt: skip
def _reshape(low: Lowering, x: Any, *more: Any, **options: Any) -> Any:
    return low.onnx("Reshape", x, np.array(low.sizes, dtype=np.int64))


@rule(
    aten.clone.default, aten.contiguous.default, aten.detach.default, aten.alias.default,
    aten.lift_fresh_copy.default,
)  # fmt: skip
def _same(low: Lowering, x: Any, **options: Any) -> Any:
    return x


@rule(aten.dropout.default, aten.feature_dropout.default, aten.alpha_dropout.default)
def _dropout(low: Lowering, x: Any, p: float, train: bool) -> Any:
    if train:
        raise Refusal("is in training mode; export module.eval()")
    return x


CODES = {torch.float32: 1, torch.float64: 11, torch.int32: 6, torch.int64: 7, torch.bool: 9}


@rule(aten._to_copy.default, aten.to.dtype, aten.to.dtype_layout)
def _cast(low: Lowering, x: Any, *more: Any, **options: Any) -> Any:
    kind = low.node.meta["val"].dtype
    if kind not in CODES:
        raise Refusal(f"computes in {kind}")
    return low.onnx("Cast", x, to=CODES[kind])


@rule(aten.permute.default)
def _permute(low: Lowering, x: Any, dims: Any) -> Any:
    return low.onnx("Transpose", x, perm=[axis % len(dims) for axis in dims])


@rule(aten.transpose.int)
def _transpose(low: Lowering, x: Any, dim0: int, dim1: int) -> Any:
    order = list(range(len(low.sizes)))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return low.onnx("Transpose", x, perm=order)


@rule(aten.t.default)
def _t(low: Lowering, x: Any) -> Any:
    return low.onnx("Transpose", x, perm=[1, 0])


@rule(aten.cat.default)
def _cat(low: Lowering, tensors: Any, dim: int = 0) -> Any:
    return low.onnx("Concat", *_alike(low, tensors), axis=dim)


@rule(aten.stack.default)
def _stack(low: Lowering, tensors: Any, dim: int = 0) -> Any:
    axes = np.array([dim])
    parts = [low.onnx("Unsqueeze", part, axes) for part in _alike(low, tensors)]
    return low.onnx("Concat", *parts, axis=dim)


def _alike(low: Lowering, tensors: Any) -> list[Any]:
    """Parts as they are if they are of the result's type, else converted."""
    if all(getattr(part, "dtype", None) == low.dtype for part in tensors):
        return list(tensors)
    return low.numbers(*tensors)


@rule(aten.slice.Tensor)
def _slice(
    low: Lowering, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    first, last = start or 0, 2**62 if end is None else end
    if (first, step) == (0, 1) and (last >= 2**31 or last == -1 == low.sizes[dim]):
        return x
    return low.onnx("Slice", x, *(np.array([each]) for each in (first, last, dim, step)))


@rule(aten.select.int)
def _select(low: Lowering, x: Any, dim: int, index: int) -> Any:
    return low.onnx("Gather", x, np.int64(index), axis=dim)


@rule(aten.index_select.default)
def _index_select(low: Lowering, x: Any, dim: int, index: Any) -> Any:
    return low.onnx("Gather", x, index, axis=dim)


@rule(aten.index.Tensor)
def _index(low: Lowering, x: Any, indices: Any) -> Any:
    """``x[:, chosen]``: constant positions along one axis."""
    given = [axis for axis, each in enumerate(indices) if each is not None]
    if len(given) != 1 or np.asarray(indices[given[0]]).dtype.kind != "i":
        raise Refusal("indexes by several tensors, or by truth values")
    return low.onnx("Gather", x, indices[given[0]], axis=given[0])


@rule(aten.split.Tensor)
def _split(low: Lowering, x: Any, split_size: int, dim: int = 0) -> Any:
    return _pieces(low, x, dim, [each.shape[dim] for each in low.node.meta["val"]])


@rule(aten.split_with_sizes.default)
def _split_with_sizes(low: Lowering, x: Any, split_sizes: Any, dim: int = 0) -> Any:
    return _pieces(low, x, dim, list(split_sizes))


@rule(aten.unbind.int)
def _unbind(low: Lowering, x: Any, dim: int = 0) -> Any:
    return tuple(
        low.onnx("Gather", x, np.int64(i), axis=dim) for i in range(len(low.node.meta["val"]))
    )


def _pieces(low: Lowering, x: Any, dim: int, sizes: list[Any]) -> Any:
    if not all(isinstance(size, int) for size in sizes):
        raise Refusal("mixes different rows of the batch")
    ends = np.cumsum([0, *sizes])
    return tuple(
        low.onnx("Slice", x, *(np.array([each]) for each in (start, end, dim, 1)))
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    )


@rule(aten.expand.default)
def _expand(low: Lowering, x: Any, size: Any, implicit: bool = False) -> Any:
    return low.onnx("Expand", x, np.array([max(each, 1) for each in low.sizes], dtype=np.int64))


@rule(aten.constant_pad_nd.default, aten.pad.default)
def _pad(low: Lowering, x: Any, pad: Any, *more: Any, **options: Any) -> Any:
    options.update(zip(("value",) if len(more) < 2 else ("mode", "value"), more, strict=False))
    if isinstance(options.get("value"), str):
        options["mode"] = options.pop("value")
    if options.get("mode", "constant") != "constant":
        raise Refusal(f"pads by {options['mode']!r}")
    rank = len(low.sizes)
    before, after = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        before[rank - 1 - i], after[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    fill = low.numbers(options.get("value") or 0.0)[0]
    return low.onnx("Pad", *low.numbers(x), np.array(before + after), fill)


@rule(aten.embedding.default)
def _embedding(low: Lowering, weight: Any, indices: Any, *more: Any) -> Any:
    return low.onnx("Gather", weight, indices, axis=0)


@rule(aten.one_hot.default)
def _one_hot(low: Lowering, x: Any, num_classes: int = -1) -> Any:
    if num_classes < 1:
        raise Refusal("counts the classes among the rows; give num_classes")
    return low.onnx("OneHot", x, np.int64(num_classes), np.array([0, 1]), axis=-1)


@rule(aten.zeros_like.default, aten.ones_like.default)
def _like(low: Lowering, x: Any, **options: Any) -> Any:
    return _filled(low, 0 if low.node.target is aten.zeros_like.default else 1)


@rule(aten.full_like.default)
def _full_like(low: Lowering, x: Any, fill_value: Any, **options: Any) -> Any:
    return _filled(low, fill_value)


@rule(aten.full.default)
def _full(low: Lowering, size: Any, fill_value: Any, **options: Any) -> Any:
    return _filled(low, fill_value)


@rule(aten.zeros.default, aten.ones.default)
def _constant(low: Lowering, size: Any, **options: Any) -> Any:
    return _filled(low, 0 if low.node.target is aten.zeros.default else 1)


def _filled(low: Lowering, value: Any) -> Any:
    """A constant, the same for all rows."""
    if isinstance(value, float) and isinf(value):
        raise Refusal("has the constant inf")
    sizes = [1 if size == -1 else size for size in low.sizes]
    return torch.full(sizes, value, dtype=low.node.meta["val"].dtype)


@rule(aten.sym_size.int)
def _size(low: Lowering, x: Any, dim: int) -> Any:
    size = x.dims[dim]
    return -1 if size is None else size


@rule(aten._assert_tensor_metadata.default, aten._assert_scalar.default)
def _nothing(low: Lowering, *args: Any, **options: Any) -> Any:
    return None


__all__ = ["RULES", "SIZED"]

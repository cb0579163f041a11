"""The rules of aten ops that move elements, make constants, or convert."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..onnx.values import Refusal
from .table import rule

if TYPE_CHECKING:
    from .lowering import Lowering

aten = torch.ops.aten
SIZED = (aten.full.default, aten.zeros.default, aten.ones.default)
"""Constants whose sizes may name the rows."""


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

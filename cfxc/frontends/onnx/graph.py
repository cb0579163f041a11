"""ONNX files as plain graphs: read, checked, and freed of protobuf types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from google.protobuf.message import (  # type: ignore[import-untyped]  # published without
    DecodeError,
    EncodeError,
)
from onnx import numpy_helper

from ...arrays import Array
from ...errors import DataTypeError, ModelFileError, UnsupportedError

DType = Literal["float", "double", "int", "bool", "string"]
Dims = tuple[int | None, ...]
"""Sizes of a tensor; ``None`` is the batch axis (one slice per row of the table)."""

Model = str | Path | bytes | onnx.ModelProto

DTYPES: dict[int, DType] = {
    onnx.TensorProto.FLOAT: "float",
    onnx.TensorProto.DOUBLE: "double",
    onnx.TensorProto.INT32: "int",
    onnx.TensorProto.INT64: "int",
    onnx.TensorProto.BOOL: "bool",
    onnx.TensorProto.STRING: "string",
}
OPSETS = {"ai.onnx": (7, 28), "ai.onnx.ml": (1, 5)}
"""Versions whose definitions the rules were written against; others are refused."""


@dataclass(frozen=True)
class Node:
    """One node: its op, the names of its inputs ("" for absent ones) and outputs, attributes.

    ``where`` names it in messages and origins: ``forest.onnx: node 'Softmax_3'``.  ``defined``
    says that ONNX defines the op in the model's opset.
    """

    domain: str
    op: str
    where: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    proto: Any
    defined: bool

    @property
    def kind(self) -> str:
        """Domain and op: ``ai.onnx.Softmax``."""
        return f"{self.domain}.{self.op}"


@dataclass(frozen=True)
class GraphInput:
    """An input of the graph: element type and declared sizes (``None`` where free)."""

    name: str
    dtype: DType
    narrow: bool  # int32, where ``dtype`` says int
    dims: Dims | None


@dataclass(frozen=True)
class Graph:
    """A model as plain values: ``name`` (for messages), nodes in order, constants, in- and outputs.

    ``opsets`` maps each domain to its version; ``outputs`` are the names of the graph's outputs.
    """

    name: str
    opsets: Mapping[str, int]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]
    inputs: tuple[GraphInput, ...]
    outputs: tuple[str, ...]


def read_model(model: Model, name: str | None = None) -> tuple[onnx.ModelProto, str]:
    """The model in a file, in bytes or as it is, checked by ONNX's own checker; and its name.

    Raises:
        ModelFileError: no such file; truncated, corrupt or invalid content; weights kept in other
            files that are not there.
        DataTypeError: ``model`` is none of the accepted types.
    """
    if isinstance(model, onnx.ModelProto):
        proto, name = model, name or model.graph.name or "model"
    elif isinstance(model, bytes):
        name = name or "model"
        proto = _parse(model, name)
    elif isinstance(model, str | Path):
        path = Path(model)
        name = name or path.name
        proto = _load(path)
    else:
        raise DataTypeError(
            f"an ONNX model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}"
        )
    try:
        if all(map(_defined(proto), proto.graph.node)):  # else the rules refuse what is unknown
            onnx.checker.check_model(_with_shapes(proto))
    except (onnx.checker.ValidationError, EncodeError, ValueError) as error:
        raise ModelFileError(f"{name}: not a valid ONNX model: {_first_line(error)}") from error
    return proto, name


def read_graph(model: Model, name: str | None = None) -> Graph:
    """The model as a :class:`Graph`.

    Raises:
        ModelFileError: see :func:`read_model`; also constants that cannot be read.
        UnsupportedError: opset versions that the rules do not know, local functions, sparse
            constants, inputs that are no tensors of numbers, booleans or text.
        DataTypeError: ``model`` is none of the accepted types.
    """
    proto, name = read_model(model, name)
    graph = proto.graph
    opsets = {_domain(entry.domain): entry.version for entry in proto.opset_import}
    _refuse_unknown(proto, opsets, name)
    try:
        constants = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
        defined = _defined(proto)
        nodes = tuple(_node(item, name, defined(item)) for item in graph.node)
    except (ValueError, TypeError, LookupError, OSError, DecodeError) as error:
        raise ModelFileError(f"{name}: a constant cannot be read: {_first_line(error)}") from error
    inputs = tuple(_input(item, name) for item in graph.input if item.name not in constants)
    return Graph(name, opsets, nodes, constants, inputs, tuple(out.name for out in graph.output))


def _with_shapes(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a shape on every in- and output: the checker wants one, runtimes do not."""
    if not _shapeless(proto):
        return proto
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    for item in _shapeless(made):
        item.type.tensor_type.shape.SetInParent()
    return made


def _shapeless(proto: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """In- and outputs that are tensors of unknown rank."""
    return [
        item
        for item in (*proto.graph.input, *proto.graph.output)
        if item.type.HasField("tensor_type") and not item.type.tensor_type.HasField("shape")
    ]


def _load(path: Path) -> onnx.ModelProto:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot read the model: {error.strerror}") from error
    proto = _parse(content, path.name)
    try:
        onnx.load_external_data_for_model(proto, str(path.parent))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise ModelFileError(
            f"{path.name}: the files with its weights cannot be read: {_first_line(error)}"
        ) from error
    return proto


def _parse(content: bytes, name: str) -> onnx.ModelProto:
    try:
        proto = onnx.load_model_from_string(content)
    except DecodeError as error:
        raise ModelFileError(f"{name}: not an ONNX model, or a truncated one") from error
    if not proto.ir_version or not proto.HasField("graph"):
        raise ModelFileError(f"{name}: not an ONNX model, or an empty or truncated one")
    if not all(isinstance(text, str) for text in _texts(proto)):
        raise ModelFileError(f"{name}: a corrupt ONNX model: some of its names are no text")
    return proto


def _texts(proto: onnx.ModelProto) -> Iterator[object]:
    """Every name in the model; protobuf gives bytes for one that is not UTF-8."""
    yield proto.graph.name
    yield from (entry.domain for entry in proto.opset_import)
    for item in (*proto.graph.input, *proto.graph.output, *proto.graph.initializer):
        yield item.name
    for node in proto.graph.node:
        yield from (node.op_type, node.domain, node.name, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)


def _refuse_unknown(proto: onnx.ModelProto, opsets: Mapping[str, int], name: str) -> None:
    used = {_domain(node.domain) for node in proto.graph.node}
    offences = [
        f"{name}: opset {opsets.get(domain, 'missing')} of {domain} (known: {first} to {last})"
        for domain, (first, last) in OPSETS.items()
        if domain in used and not first <= opsets.get(domain, 0) <= last
    ]
    offences += [f"{name}: local function {item.domain}.{item.name}" for item in proto.functions]
    offences += [
        f"{name}: sparse constant {item.values.name!r}" for item in proto.graph.sparse_initializer
    ]
    if offences:
        raise UnsupportedError(
            f"{name} cannot be compiled", offences, "export the model again, without these"
        )


def _node(proto: onnx.NodeProto, name: str, defined: bool) -> Node:
    domain = _domain(proto.domain)
    label = proto.name or next(iter(proto.output), proto.op_type)
    attributes = {item.name: _attribute(item) for item in proto.attribute}
    return Node(
        domain,
        proto.op_type,
        f"{name}: node {label!r}",
        tuple(proto.input),
        tuple(proto.output),
        attributes,
        proto,
        defined,
    )


def _defined(proto: onnx.ModelProto) -> Callable[[onnx.NodeProto], bool]:
    versions = {_domain(entry.domain): entry.version for entry in proto.opset_import}

    def defined(node: onnx.NodeProto) -> bool:
        domain = _domain(node.domain)
        spelled = "" if domain == "ai.onnx" else domain
        try:
            onnx.defs.get_schema(node.op_type, versions.get(domain, 0), spelled)
        except onnx.defs.SchemaError:
            return False
        return True

    return defined


def _attribute(proto: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(proto)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if proto.type == onnx.AttributeProto.STRINGS:
        return tuple(item.decode("utf-8", "surrogateescape") for item in value)
    if proto.type == onnx.AttributeProto.FLOATS:
        return np.array(value, dtype=np.float32)
    if proto.type == onnx.AttributeProto.INTS:
        return np.array(value, dtype=np.int64)
    return value


def _input(proto: onnx.ValueInfoProto, name: str) -> GraphInput:
    kind = proto.type.WhichOneof("value")
    element = proto.type.tensor_type.elem_type if kind == "tensor_type" else 0
    if element not in DTYPES:
        what = element_name(element) if element else f"a {kind}"
        raise UnsupportedError(
            f"{name} cannot be compiled",
            [f"{name}: input {proto.name!r} holds {what}"],
            "inputs must be tensors of float, double, int32, int64, bool or text",
        )
    dims: Dims | None = None
    if proto.type.tensor_type.HasField("shape"):
        sizes = proto.type.tensor_type.shape.dim
        dims = tuple(size.dim_value if size.dim_value > 0 else None for size in sizes)
    return GraphInput(proto.name, DTYPES[element], element == onnx.TensorProto.INT32, dims)


def element_name(code: int) -> str:
    """ONNX's name of an element type."""
    known = onnx.TensorProto.DataType.items()
    return next((name for name, number in known if number == code), f"element type {code}")


def _domain(domain: str) -> str:
    return domain or "ai.onnx"


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)

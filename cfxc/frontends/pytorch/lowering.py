"""From a graph of aten ops to a program: most are ops of ONNX, whose rules lower them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import torch

from ...errors import CfxcError
from ...ir import Builder, Program
from ...space import FeatureSpace
from ...space.inputs import declare_inputs
from ..onnx.context import Context
from ..onnx.coverage import OPSETS, reason
from ..onnx.graph import DType, Node
from ..onnx.lowering import MALFORMED, finished
from ..onnx.outputs import Answer
from ..onnx.rules import RULES as ONNX
from ..onnx.values import Choice, Columns, Refusal, Rows, Value
from ..predictor import Wanted
from .exporting import DTYPES, Exported
from .rules import SIZED
from .table import RULES

REMEDY = (
    "write the module in ops that docs/reference/models.md lists, or leave the decision to a part "
    "that is"
)


class Lowering:
    """The program under construction, and the node of the graph that is lowered now."""

    def __init__(self, model: Exported, space: FeatureSpace) -> None:
        self.model = model
        builder = Builder(model.name)
        declare_inputs(builder, space)
        self.context = Context(builder, space, OPSETS)
        self.node: Any = None
        self.offences = [f"{model.name}: {flaw}" for f in model.feeds for flaw in f.flaws(space)]

    def onnx(self, op: str, *inputs: Any, **attributes: Any) -> Any:
        """What an op of ONNX gives; inputs are values, arrays, numbers or ``None``."""
        name = self.node.name
        given = [x if x is None or _is_value(x) else np.asarray(x) for x in inputs]
        made = {key: _attribute(value) for key, value in attributes.items()}
        node = Node("ai.onnx", op, name, (), (name,), made, None, True)
        if node.kind not in ONNX:
            raise Refusal(reason(op))
        result = ONNX[node.kind].rule(self.context, node, given)
        return result[0] if isinstance(result, tuple) else result

    @property
    def dtype(self) -> DType | None:
        """Element type of what the node gives; ``None`` if it is no tensor."""
        return DTYPES.get(getattr(self.node.meta.get("val"), "dtype", None))

    @property
    def sizes(self) -> list[int]:
        """Sizes of what the node gives, the rows as -1."""
        sizes = self.node.meta["val"].shape
        return [size if isinstance(size, int) else -1 for size in sizes]

    def numbers(self, *values: Any) -> list[Any]:
        """Operands in the element type of what the node gives, as torch converts them."""
        dtype, kind = self.dtype, getattr(self.node.meta.get("val"), "dtype", None)
        if dtype is None:
            raise Refusal(f"computes in {kind}")
        found: list[Any] = []
        for value in values:
            if isinstance(value, np.ndarray | bool | int | float):
                found.append(torch.as_tensor(value).to(kind).numpy())
            else:
                found.append(self.context.numeric(value, dtype if dtype != "bool" else None))
        return found

    def compared(self, x: Any, y: Any) -> list[Any]:
        """Two operands of a comparison: a number beside a tensor in the tensor's element type."""
        kinds = [value.dtype for value in (x, y) if isinstance(value, Rows | Columns | Choice)]
        floats = {"float": np.float32, "double": np.float64}
        wide: DType | None = "float" if "float" in kinds else None
        wide = "double" if "double" in kinds else wide
        found: list[Any] = []
        for value in (x, y):
            if isinstance(value, Rows | Columns | Choice):
                found.append(self.context.numeric(value, wide))
            elif wide is not None:
                found.append(np.asarray(value, dtype=floats[wide]))
            elif isinstance(value, float) and not value.is_integer():
                raise Refusal("compares integers with fractions")
            else:
                found.append(np.asarray(value).astype(np.int64))
        return found

    def real(self, number: Any) -> float:
        """An option as the module computes with it: in its own floats."""
        return float(np.float32(number) if self.dtype == "float" else number)

    def run(self) -> dict[str, Value | None]:
        """The values of the graph's outputs, in order; what was refused is missing."""
        graph, values = self.model.program.graph, self._given()
        result: list[Any] = []
        for node in graph.nodes:
            if node.op == "output":
                result = [values.get(each) for each in node.args[0]]
            elif node.op == "call_function":
                self._call(node, values)
            elif node.op != "placeholder":
                self.offences.append(f"{self.model.name}: {node.name} ({node.op})")
        return dict(zip(self.model.output_names, result, strict=True))

    def _given(self) -> dict[Any, Any]:
        """Parameters, buffers and constants as arrays, inputs as columns."""
        program, signature = self.model.program, self.model.program.graph_signature
        held = {**program.state_dict, **program.constants}
        named = {
            **signature.inputs_to_parameters, **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }  # fmt: skip
        feeds = dict(zip(signature.user_inputs, self.model.feeds, strict=True))
        values: dict[Any, Any] = {}
        for node in program.graph.nodes:
            if node.op != "placeholder":
                continue
            if node.name in feeds:
                feed = feeds[node.name]
                origin = f"{self.model.name}: input {feed.name!r}"
                values[node] = Columns(feed.columns, feed.dims, (feed.dtype,), origin)
            elif node.name in named and isinstance(held.get(named[node.name]), torch.Tensor):
                values[node] = held[named[node.name]].detach().cpu()
        return values

    def _call(self, node: Any, values: dict[Any, Any]) -> None:
        self.node = node
        if any(source not in values for source in node.all_input_nodes):
            return  # what it needs was refused
        where = f"{self.model.name}: {_place(node)}"
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.__getitem__)
        said = ""
        try:
            with self.context.builder.at(where):
                values[node] = self._value(node, args, kwargs)
        except Refusal as refusal:
            said = str(refusal)
        except CfxcError:
            raise
        except MALFORMED as error:  # options that the rule does not know
            said = f"its options are not read ({type(error).__name__})"
        if node not in values:
            self.offences.append(f"{where} ({node.target})" + f": {said}" * bool(said))

    def _value(self, node: Any, args: Any, kwargs: Any) -> Any:
        if node.target is operator.getitem:
            return args[0][args[1]]
        found = RULES.get(node.target)
        if not _is_computed([args, kwargs]) and node.target not in SIZED:
            try:
                with torch.no_grad():
                    return node.target(*args, **kwargs)
            except Exception as error:
                raise Refusal("cannot be computed from its constants") from error
        if found is None:
            raise Refusal("")
        args, kwargs = torch.fx.node.map_aggregate((args, kwargs), _array)
        return found(self, *args, **kwargs)


def lower_exported(model: Exported, space: FeatureSpace, wanted: Wanted) -> tuple[Program, Answer]:
    """The program of an exported module, and how its outputs answer.

    Raises:
        UnsupportedError: everything in the module that cannot be lowered, all ops at once.
        InvalidInputError: what is wanted contradicts the outputs.
    """
    lowering = Lowering(model, space)
    outputs = {name: _array(value) for name, value in lowering.run().items()}
    return finished(lowering.context, outputs, wanted, lowering.offences, REMEDY)


def _place(node: Any) -> str:
    """The layer that an op is in, or its own name."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]) if stack else ""
    return f"layer {path!r}" if path else f"node {node.name!r}"


def _is_value(value: Any) -> bool:
    return isinstance(value, np.ndarray | Rows | Columns | Choice)


def _is_computed(value: Any) -> bool:
    """Whether anything in it depends on the inputs."""
    if isinstance(value, list | tuple):
        return any(map(_is_computed, value))
    if isinstance(value, dict):
        return any(map(_is_computed, value.values()))
    return isinstance(value, Rows | Columns | Choice)


def _array(value: Any) -> Any:
    """A constant of torch as an array; ``Refusal`` for floats that numpy does not have."""
    if not isinstance(value, torch.Tensor):
        return value
    try:
        return value.detach().numpy()
    except (TypeError, RuntimeError) as error:
        raise Refusal(f"has a constant of {value.dtype}") from error


def _attribute(value: Any) -> Any:
    return np.array(value, dtype=np.int64) if isinstance(value, list | tuple) else value

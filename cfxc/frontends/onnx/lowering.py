"""From a graph to a program: node by node, everything unsupported collected before it is raised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...errors import CfxcError, UnsupportedError, VerificationError
from ...ir import Builder, Let, Literal, Program, verify
from ...space import FeatureSpace
from ...space.inputs import declare_inputs
from ..predictor import Task, Wanted
from .context import Context
from .coverage import reason
from .graph import OPSETS, Graph, Model, Node, read_graph
from .inputs import Feed, match_inputs
from .outputs import Answer, answer_of
from .rules import RULES
from .values import ROWS, Columns, Refusal, Unread, Value

NOTHING = Wanted()
MALFORMED = (ArithmeticError, LookupError, TypeError, ValueError)
SIZES = {
    "Concat", "Expand", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze",
}  # fmt: skip
"""Ops that may pass the number of rows on, or take it as a size."""
REMEDY = (
    "export a linear model, tree ensemble or feed-forward network with its preprocessing, as "
    "skl2onnx writes them"
)


@dataclass(frozen=True)
class Lowered:
    """A lowered model: the program, how outputs answer, and what each graph input takes."""

    program: Program
    answer: Answer
    feeds: tuple[Feed, ...]


def lower(
    model: Model, space: FeatureSpace, name: str | None = None, *, task: Task | None = None,
    output: str | int | None = None, cut: float | None = None,
) -> Program:  # fmt: skip
    """The program that an ONNX model computes for one row of the space's table.

    Inputs are the features of ``space``. A classifier has the outputs ``label: Category``, and
    where the graph has them ``score`` (Real or Real[K]) and ``probability`` (Real[K]); a
    regressor has ``value`` (Real or Real[k]). Float inputs round to float32 (``round_float32``);
    thresholds of trees are compared as stored; other float arithmetic is lowered over the reals.

    Args:
        model: Path of a file, its content, or an ``onnx.ModelProto``.
        space: Its columns are the inputs': by name if every input is one column, else in order.
        name: Of the model, in messages; by default that of the file.
        task: What a graph with one output of numbers is. By default a classifier with classes
            0 … K-1 if the output is a sigmoid or softmax, else a regressor.
        output: The output that decides, by name or position, where there are several.
        cut: What the output (or the second of two probabilities) must exceed for the second class.

    Raises:
        ModelFileError: no such file, or no valid ONNX model in it.
        InvalidInputError: inputs that do not fit the columns of the space.
        UnsupportedError: everything in the model that cannot be lowered, all nodes at once.
    """
    return lower_model(model, space, name, Wanted(task, output, cut)).program


def lower_model(
    model: Model, space: FeatureSpace, name: str | None = None, wanted: Wanted = NOTHING
) -> Lowered:
    """:func:`lower`, with what running the model needs to know besides the program."""
    graph = read_graph(model, name)
    feeds = match_inputs(graph, space)
    builder = Builder(graph.name)
    declare_inputs(builder, space)
    context = Context(builder, space, graph.opsets)
    offences = [f"{graph.name}: {flaw}" for feed in feeds for flaw in feed.flaws(space)]
    values = _lower_nodes(graph, feeds, context, offences, wanted.output)
    outputs = {out: values.get(out) for out in graph.outputs}
    return Lowered(*finished(context, outputs, wanted, offences), feeds)


def finished(
    context: Context, outputs: Mapping[str, Value | None], wanted: Wanted, offences: list[str],
    remedy: str = REMEDY,
) -> tuple[Program, Answer]:  # fmt: skip
    """The program with the outputs that the network's ``outputs`` mean.

    Raises:
        UnsupportedError: the ``offences`` so far, or outputs that mean nothing to us.
        InvalidInputError: what is wanted contradicts the outputs.
    """
    name = context.builder.name
    _raise(name, offences, remedy)
    try:
        with context.builder.at(f"{name}: outputs"):
            answer = answer_of(context, outputs, wanted)
    except Refusal as refusal:
        _raise(name, [f"{name}: {refusal}"], remedy)
        raise
    program = _live(context.builder.build_with(answer.outputs))
    try:
        verify(program)
    except VerificationError as error:  # an op over what it is not defined for here
        raise UnsupportedError(f"{name} cannot be compiled", [str(error)], remedy) from error
    return program, answer


def _raise(name: str, offences: list[str], remedy: str = REMEDY) -> None:
    if offences:
        raise UnsupportedError(f"{name} cannot be compiled", offences, remedy)


def _lower_nodes(
    graph: Graph,
    feeds: tuple[Feed, ...],
    context: Context,
    offences: list[str],
    output: str | int | None,
) -> Mapping[str, Value]:
    """The value of every tensor; what a refused node should have given is missing."""
    values: dict[str, Value] = dict(graph.constants)
    for feed in feeds:
        origin = f"{graph.name}: input {feed.name!r}"
        values[feed.name] = Columns(feed.columns, feed.dims, (feed.dtype,), origin)
    unread: dict[str, str] = {}
    for node in graph.nodes:
        if why := next((unread[name] for name in node.inputs if name in unread), ""):
            unread.update(dict.fromkeys(node.outputs, why))
            continue
        reasons = _unknown(node)
        absent = [name for name in node.inputs if name and name not in values]
        if not reasons and not absent:
            try:
                with context.builder.at(node.where):
                    for name, value in _outputs(context, node, values).items():
                        if isinstance(value, Unread):
                            unread[name] = f"{node.where} ({node.kind}): {value.why}"
                        else:
                            values[name] = value
            except Refusal as refusal:
                reasons = [str(refusal)]
            except CfxcError:
                raise
            except MALFORMED as error:  # ONNX's checker lets through what is no such node
                reasons = [f"its inputs and attributes do not fit ({type(error).__name__})"]
        offences += [f"{node.where} ({node.kind})" + f": {why}" * bool(why) for why in reasons]
    asked = [name for name in graph.outputs if output in (None, name)]
    if not any(name in values for name in asked):
        offences += list(dict.fromkeys(unread[name] for name in asked if name in unread))
    return values


def _unknown(node: Node) -> list[str]:
    """Why a node is refused unseen; empty if there is a rule for it."""
    entry = RULES.get(node.kind)
    if node.kind == "ai.onnx.Constant":
        return []
    if entry is None:
        return [reason(node.op) if node.domain in OPSETS else ""]
    if not node.defined:
        return ["is not defined in the model's opset"]
    odd = sorted(set(node.attributes) - entry.attributes)
    return [f"attribute {name!r}" for name in odd]


def _outputs(
    context: Context, node: Node, values: Mapping[str, Value]
) -> dict[str, Value | Unread]:
    inputs = [values[name] if name else None for name in node.inputs]
    given = [value for value in inputs if value is not None]
    results: tuple[Value | Unread | None, ...]
    constants = [value for value in given if isinstance(value, np.ndarray)]
    if any(_counts(value) for value in constants) and node.op not in SIZES:
        raise Refusal("computes with the number of rows")
    if len(constants) == len(given):
        results = _folded(node, context.opsets, values)
    else:
        result = RULES[node.kind].rule(context, node, inputs)
        results = result if isinstance(result, tuple) else (result,)
    pairs = zip(node.outputs, results, strict=False)
    return {name: value for name, value in pairs if name and value is not None}


def _counts(value: Array) -> bool:
    """Whether the number of rows is among the entries."""
    return value.dtype == np.int64 and bool((value == ROWS).any())


def _folded(
    node: Node, opsets: Mapping[str, int], values: Mapping[str, Value]
) -> tuple[Array, ...]:
    """The outputs of a node whose inputs are all constant."""
    from onnx.reference import ReferenceEvaluator

    inputs = {name: values[name] for name in node.inputs if name}
    versions = {"" if name == "ai.onnx" else name: opset for name, opset in opsets.items()}
    try:
        results = ReferenceEvaluator(node.proto, opsets=versions).run(None, inputs)
    except Exception as error:  # whatever the evaluator raises means: not a constant we can have
        raise Refusal("cannot be computed from its constants") from error
    return tuple(np.asarray(result) for result in results)


def _live(program: Program) -> Program:
    """The program without assignments that no output needs."""
    needed = {operand for _, operand in program.outputs if not isinstance(operand, Literal)}
    kept: list[Let] = []
    for statement in reversed(list(program.lets())):
        if statement.name in needed:
            kept.append(statement)
            needed.update(_names(statement))
    return Program(program.name, program.inputs, tuple(reversed(kept)), program.outputs)


def _names(statement: Let) -> set[str]:
    return {operand for operand in statement.op.operands() if not isinstance(operand, Literal)}

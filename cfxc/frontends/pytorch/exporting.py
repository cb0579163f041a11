"""From a module to its graph of aten ops, by ``torch.export``, and to the columns of its inputs."""

from __future__ import annotations

import inspect
import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from typing import Any, get_origin, get_type_hints

import torch
import torch.utils._pytree as pytree

from ...errors import InvalidInputError, UnsupportedError
from ...space import FeatureSpace
from ...space.inputs import column
from ..onnx.graph import DType, GraphInput
from ..onnx.inputs import Feed, is_whole, match
from .rules import RULES

DTYPES: Mapping[Any, DType] = {
    torch.float32: "float", torch.float64: "double", torch.int64: "int", torch.int32: "int",
    torch.bool: "bool",
}  # fmt: skip
ROWS = 2  # of the example: any number but 0 and 1, which torch.export takes for fixed
REMEDY = (
    "export it yourself with torch.export.export(module.eval(), example inputs, dynamic_shapes="
    "({0: torch.export.Dim('rows')},)), or to ONNX, and compile that"
)


@dataclass(frozen=True)
class Exported:
    """A module's graph, the columns of its inputs, and what runs it.

    Attributes:
        name: Of the module, in messages.
        program: torch's ``ExportedProgram``, its ops without side effects; copies are without.
        places: Its arguments, with the place of each among the flat ones.
        call: Runs the deployed module on its arguments.
        feeds: What each input takes, in the order of the flat arguments.
    """

    name: str
    program: Any
    places: Any
    call: Any
    feeds: tuple[Feed, ...]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "program": None}

    def outputs(self, tensors: Sequence[Any]) -> dict[str, Any]:
        """What the deployed module gives for flat arguments, by name."""
        args, kwargs = pytree.tree_map(tensors.__getitem__, self.places)
        with torch.no_grad():
            found = self.call(*args, **kwargs)
        leaves = pytree.tree_flatten_with_path(found)[0]
        return {_spelled(path) or "output": leaf for path, leaf in leaves}

    @property
    def output_names(self) -> tuple[str, ...]:
        """The outputs as :meth:`outputs` names them."""
        spec = self.program.call_spec.out_spec
        counted = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
        return tuple(_spelled(path) or "output" for path, _ in _paths(counted))


def exported(model: Any, space: FeatureSpace) -> Exported:
    """A module, or an exported program, over the columns of a space.

    Raises:
        UnsupportedError: torch cannot export the module, or its numbers are of an odd kind.
        InvalidInputError: inputs that do not fit the columns.
    """
    if isinstance(model, torch.export.ExportedProgram):
        name, call, program = "exported program", model.module(), model
    else:
        name, call = type(model).__name__, model
        program = _export(name, model, *_example(name, model, space))
    program = _plain(name, program)
    nest = program.call_spec.in_spec
    places = pytree.tree_unflatten(list(range(nest.num_leaves)), nest)
    return Exported(name, program, places, call, match(name, _inputs(name, program), space))


def _export(name: str, module: Any, args: tuple[Any, ...], rows: Any) -> Any:
    """The graph for any number of rows."""
    try:
        with _quiet():
            return torch.export.export(module, args, dynamic_shapes=rows)
    except Exception as error:  # whatever the module's own code raises, too
        said = next((line for line in str(error).splitlines() if line.strip()), "")[:200]
        raise UnsupportedError(
            f"{name} cannot be compiled",
            [f"{name}: torch.export cannot read it: {type(error).__name__}: {said}"],
            "Branch with torch.where instead of if, and " + REMEDY,
        ) from error


def _plain(name: str, program: Any) -> Any:
    """The graph without side effects, in ops that there are rules for, as far as torch can."""
    table = {
        op: how for op, how in torch.export.default_decompositions().items() if op not in RULES
    }
    try:
        with _quiet():
            return program.run_decompositions(table)
    except Exception as error:
        said = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise UnsupportedError(f"{name} cannot be compiled", [f"{name}: {said}"], REMEDY) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without torch's own report of why an export fails: ours is the error."""
    loggers = [logging.getLogger(n) for n in ("torch.fx", "torch.export", "torch._export")]
    before = [each.disabled for each in loggers]
    child = logging.getLogger("torch.fx.experimental.symbolic_shapes")
    loggers, before = [*loggers, child], [*before, child.disabled]
    for each in loggers:
        each.disabled = True
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):  # where graphs are printed
            warnings.simplefilter("ignore", FutureWarning)  # of torch about its own parts
            yield
    finally:
        for each, was in zip(loggers, before, strict=True):
            each.disabled = was


def _example(name: str, module: Any, space: FeatureSpace) -> tuple[tuple[Any, ...], Any]:
    """Arguments for two rows, and which axes are free: by the parameters of ``forward``."""
    free = {0: torch.export.Dim.AUTO}
    parameters = [
        each
        for each in inspect.signature(module.forward).parameters.values()
        if each.default is each.empty and each.kind in (0, 1)
    ]
    dtype = number_type(module)
    if len(parameters) == 1 and _takes_mapping(module, parameters[0].name):
        table = {c: torch.zeros(ROWS, dtype=_cell_type(space, c, dtype)) for c in space.columns}
        return (table,), (dict.fromkeys(table, free),)
    if len(parameters) == 1 and parameters[0].name not in space.columns:
        return (torch.zeros(ROWS, len(space.columns), dtype=dtype),), (free,)
    names = [each.name for each in parameters]
    if odd := [each for each in names if each not in space.columns]:
        raise InvalidInputError(
            f"{name}: forward({', '.join(names)}) takes {len(names)} inputs, and {odd[0]!r} is no "
            f"column of the space: {list(space.columns)[:7]}. Let forward take one tensor of all "
            "columns, inputs named as columns, or a dict of columns (annotated as dict); or export "
            "the module with torch.export.export, whose inputs take the columns in order"
        )
    cells = tuple(torch.zeros(ROWS, dtype=_cell_type(space, each, dtype)) for each in names)
    return cells, tuple(free for _ in cells)


def _takes_mapping(module: Any, parameter: str) -> bool:
    try:
        hint = get_type_hints(module.forward).get(parameter)
    except (NameError, TypeError):
        return False
    kind = get_origin(hint) or hint
    return isinstance(kind, type) and issubclass(kind, Mapping)


def number_type(module: Any) -> Any:
    """The element type that the module computes in."""
    held = [*module.parameters(), *module.buffers()]
    return next((each.dtype for each in held if each.is_floating_point()), torch.float32)


def _cell_type(space: FeatureSpace, name: str, dtype: Any) -> Any:
    """Codes and whole numbers go in as integers, other numbers as floats."""
    return torch.int64 if is_whole(column(space, name)) else dtype


def _inputs(name: str, program: Any) -> tuple[GraphInput, ...]:
    """The inputs in the order of the flat arguments, with their sizes."""
    spec = program.call_spec.in_spec
    counted = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    spelled = [path[-1] for path, _ in _paths(counted)]
    found, flat = [], list(program.graph_signature.user_inputs)
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    for place, key in zip(flat, spelled, strict=True):
        node = nodes.get(place)
        value = None if node is None else node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.dtype not in DTYPES:
            held = getattr(value, "dtype", type(place).__name__)
            raise UnsupportedError(
                f"{name} cannot be compiled", [f"{name}: input {place!r} holds {held}"],
                "inputs must be tensors of float32, float64, int64, int32 or bool",
            )  # fmt: skip
        dims = tuple(size if isinstance(size, int) else None for size in value.shape)
        called = str(key.key) if isinstance(key, pytree.MappingKey) else place
        narrow = value.dtype == torch.int32
        found.append(GraphInput(called, DTYPES[value.dtype], narrow, dims))
    return tuple(found)


def _paths(tree: Any) -> list[tuple[tuple[Any, ...], Any]]:
    return [(tuple(path), leaf) for path, leaf in pytree.tree_flatten_with_path(tree)[0]]


def _spelled(path: Sequence[Any]) -> str:
    """An output's name: its key, attribute or position."""
    return ".".join(str(getattr(k, "key", getattr(k, "name", getattr(k, "idx", k)))) for k in path)

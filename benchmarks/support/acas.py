"""Networks of ACAS Xu: 5 numbers, 6 layers of 50 ReLU, 5 scores; the nearest point under linf.

Published verifiers are compared on its 45 networks, ``ACASXU_experimental_v2a_*.onnx``, which are
read from a folder if one is given.  Without one, a network of that size is fitted to the smallest
of five smooth functions, and read from an ONNX file whose input has the shape [1, 1, 1, 5], as
theirs.  Each question is the nearest point with the label that comes second.

Marabou, in the Python that ``CFXC_MARABOU_PYTHON`` names (maraboupy 2.0, onnx, onnxruntime), is
asked about our answers on the same files: whether the label occurs within our lower bound, and
whether within a thousandth more than our distance.  A search for the nearest point would ask more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import pandas as pd
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

import cfxc
from cfxc.errors import UnsupportedError

from .portable import Array
from .report import Table

HEADER = (
    "network, point", "status", "distance", "lower bound", "gap, %", "boxes", "wall, s", "CPU, s",
    "certificate", "Marabou: none nearer, CPU s", "one as near, CPU s",
)  # fmt: skip
ROWS, LAYERS, GRACE = 20_000, (50,) * 6, 60.0
VARIABLE = "CFXC_MARABOU_PYTHON"
WORKER = Path(__file__).with_name("marabou_worker.py")
# A distance, two angles and two speeds, less a mean and over a range, as the networks read them.
LOW = np.array([-19791.091 / 60261, -0.5, -0.5, -0.5, -0.5])
HIGH = np.array([(60760 - 19791.091) / 60261, 0.5, 0.5, 0.5, 0.5])


@dataclass(frozen=True)
class Network:
    """An ONNX file whose largest score is the label, and points of [low, high], shape (n, 5)."""

    name: str
    path: Path
    low: Array
    high: Array
    points: Array

    def compiled(self) -> cfxc.CompiledModel:
        features = [
            cfxc.Feature(name, "real", lower=low, upper=high)
            for name, low, high in zip(self.columns, self.low, self.high, strict=True)
        ]
        return cfxc.compile(self.path, cfxc.FeatureSpace(features), task="classifier")

    @property
    def columns(self) -> list[str]:
        return [f"x{i}" for i in range(5)]

    def order(self, point: Array) -> Array:
        """The labels of a point, the most likely one last."""
        given = point.astype(np.float32).reshape(1, 1, 1, 5)
        model = onnx.load(self.path)
        constants = {tensor.name for tensor in model.graph.initializer}  # older files list both
        (read,) = (each.name for each in model.graph.input if each.name not in constants)
        scores = np.asarray(ReferenceEvaluator(model).run(None, {read: given})[0])
        return scores.reshape(-1).argsort()


def made(rows: int = ROWS, seed: int = 0) -> tuple[Array, Array]:
    """Points in [-1/2, 1/2]^5, and which of five functions is the smallest there."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (rows, 5))
    first, second, slope = (rng.normal(size=(5, 5)) for _ in range(3))
    scores = np.sin(3 * X @ first) + (X @ second) ** 2 + X @ slope
    return X, (scores - scores.mean(axis=0)).argmin(axis=1)


def as_onnx(network: MLPClassifier) -> onnx.ModelProto:
    """The scores of a network as a graph over single floats, of an input [1, 1, 1, 5]."""
    nodes = [helper.make_node("Reshape", ["input", "shape"], ["x0"])]
    given = [numpy_helper.from_array(np.array([-1, 5]), "shape")]
    last = len(network.coefs_) - 1
    for i, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
        given += [
            numpy_helper.from_array(weight.astype(np.float32), f"W{i}"),
            numpy_helper.from_array(bias.astype(np.float32), f"b{i}"),
        ]
        out = "scores" if i == last else f"a{i}"
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"W{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Add", [f"m{i}", f"b{i}"], [out]))
        if i < last:
            nodes.append(helper.make_node("Relu", [out], [f"x{i + 1}"]))
    ends = (("input", [1, 1, 1, 5]), ("scores", [1, 5]))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ends)
    graph = helper.make_graph(nodes, "acas", [x], [y], given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


def fitted(folder: Path, points: int) -> Iterator[Network]:
    """A network of that size, fitted here."""
    X, y = made()
    network = MLPClassifier(LAYERS, max_iter=25, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(X, y)
    onnx.save(as_onnx(network), folder / "acas.onnx")
    X = X.astype(np.float32).astype(float)
    yield Network("fitted", folder / "acas.onnx", X.min(axis=0), X.max(axis=0), X[:points])


def published(source: Path, folder: Path, points: int) -> Iterator[Network]:
    """The networks of a folder, each asked about as many random points; the smallest score decides.

    Their files say nothing of that, so the last layer is negated.
    """
    rng = np.random.default_rng(0)
    for path in sorted(source.glob("*.onnx")):
        model = onnx.load(path)
        last = {name for node in model.graph.node[-2:] for name in node.input}  # W and b
        for tensor in model.graph.initializer:
            if tensor.name in last:
                negated = -numpy_helper.to_array(tensor)
                tensor.CopyFrom(numpy_helper.from_array(negated, tensor.name))
        onnx.save(model, folder / path.name)
        X = rng.uniform(LOW, HIGH, (points, 5)).astype(np.float32).astype(float)
        name = path.stem.removeprefix("ACASXU_experimental_v2a_")
        yield Network(name, folder / path.name, LOW, HIGH, X)


def table(
    source: Path | None, points: int, epsilon: float, seconds: float, *, certify: bool
) -> Table:
    """The questions of the points of each network, one row each."""
    found = Table(f"6×50 ReLU, linf, ε = {epsilon:g}, limit {seconds:g} s", HEADER)
    with TemporaryDirectory() as name:
        folder = Path(name)
        networks = fitted(folder, points) if source is None else published(source, folder, points)
        for network in networks:
            model = network.compiled()
            for number, point in enumerate(network.points):
                row = _asked(network, model, point, epsilon, seconds, certify=certify)
                found.rows.append((f"{network.name}, {number}", *row))
                print(*found.rows[-1], sep="  ", file=sys.stderr, flush=True)
    return found


def _asked(
    network: Network, model: cfxc.CompiledModel, point: Array, epsilon: float, seconds: float,
    *, certify: bool,
) -> tuple[str, ...]:  # fmt: skip
    """What is said of one point, by us and by Marabou."""
    target = int(network.order(point)[-2])
    row = pd.DataFrame([point], columns=network.columns)
    wall, cpu = time.perf_counter(), time.process_time()
    answer = model.explain(row, target=target, distance="linf", epsilon=epsilon, time_limit=seconds)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    certificate = _certified(answer) if certify else "not asked"
    return (
        answer.status, _shown(answer.distance), _shown(answer.lower_bound), _gap(answer),
        f"{answer.nodes:,}", f"{wall:.1f}", f"{cpu:.1f}", certificate,
        _marabou(network, point, target, answer.lower_bound, seconds),
        _marabou(network, point, target, 1.001 * (answer.distance or 0), seconds),
    )  # fmt: skip


def _marabou(network: Network, point: Array, target: int, radius: float, seconds: float) -> str:
    """Whether Marabou finds the label within a radius (of each number's range), and its seconds."""
    python = os.environ.get(VARIABLE)
    if python is None or not radius:
        return "not asked"
    away = radius * (network.high - network.low)
    low, high = np.maximum(point - away, network.low), np.minimum(point + away, network.high)
    asked = {
        "path": str(network.path), "low": low.tolist(), "high": high.tolist(), "target": target,
        "seconds": seconds,
    }  # fmt: skip
    try:
        ended = subprocess.run(
            [python, str(WORKER), json.dumps(asked)], capture_output=True, text=True,
            timeout=seconds + GRACE, check=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"ended after {seconds + GRACE:g}"
    said, took = json.loads(ended.stdout.splitlines()[-1])
    return f"{said}, {took:.1f}"


def _shown(distance: float | None) -> str:
    return "–" if distance is None else f"{distance:.5f}"


def _gap(answer: cfxc.Result) -> str:
    """Of the distance, how much lies below it and is not ruled out."""
    return "–" if not answer.distance else f"{100 * answer.gap / answer.distance:.2f}"


def _certified(answer: cfxc.Result) -> str:
    """Whether there is a certificate that the checker takes, and in what time."""
    started = time.perf_counter()
    try:
        report = cfxc.check(answer.certificate.to_dict())
    except UnsupportedError as error:
        return f"none: {str(error)[:80]}"
    return f"{'taken' if report.ok else 'refused'}, {time.perf_counter() - started:.1f} s"

"""Networks of the size of ACAS Xu's: 5 numbers, 6 hidden layers of 50 ReLU, 5 scores.

Published verifiers are compared on its 45 networks, which come as files of their own; this one is
fitted to the smallest of five smooth functions, and read from an ONNX file whose input has the
shape [1, 1, 1, 5], as theirs.  Each question is the nearest point under linf with the label that
the network finds second most likely.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import pandas as pd
from onnx import TensorProto, helper, numpy_helper
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

import cfxc
from cfxc.errors import UnsupportedError

from .portable import Array
from .report import Table

HEADER = (
    "point", "status", "distance", "lower bound", "gap, %", "boxes", "wall, s", "CPU, s",
    "certificate",
)  # fmt: skip
ROWS, LAYERS = 20_000, (50,) * 6


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


def table(points: int, epsilon: float, seconds: float, *, certify: bool) -> Table:
    """The questions of the first points, one row each."""
    X, y = made()
    network = MLPClassifier(LAYERS, max_iter=25, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(X, y)
    frame = pd.DataFrame(X.astype(np.float32).astype(float), columns=[f"x{i}" for i in range(5)])
    space = cfxc.FeatureSpace.infer(frame, resolution=None)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "acas.onnx"
        onnx.save(as_onnx(network), path)
        model = cfxc.compile(path, space, task="classifier")
    second = network.predict_proba(X[:points]).argsort(axis=1)[:, -2]
    found = Table(f"6×50 ReLU, linf, ε = {epsilon:g}, limit {seconds:g} s", HEADER)
    for i in range(points):
        wall, cpu = time.perf_counter(), time.process_time()
        answer = model.explain(
            frame.iloc[[i]], target=int(second[i]), distance="linf", epsilon=epsilon,
            time_limit=seconds,
        )  # fmt: skip
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        row = (
            str(i), answer.status, _shown(answer.distance), _shown(answer.lower_bound),
            _gap(answer), f"{answer.nodes:,}", f"{wall:.1f}", f"{cpu:.1f}",
            _certified(answer) if certify else "not asked",
        )  # fmt: skip
        found.rows.append(row)
        print(*row, sep="  ", file=sys.stderr, flush=True)
    return found


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

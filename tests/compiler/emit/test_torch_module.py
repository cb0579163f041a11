"""Programs as torch modules: the exact evaluator's values, gradients by differences, refusals."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import cfxc
from cfxc.compiler.emit.torch_refusals import REFUSALS, refused
from cfxc.errors import InvalidInputError, MissingExtraError, UnsupportedError, VerificationError
from cfxc.ir import Program, evaluate, parse_program
from cfxc.ir.op import REGISTRY
from tests.example_programs import BY_NAME, EXAMPLES, Example
from tests.strategies import inputs_of, op_programs, programs

torch = pytest.importorskip("torch")
from cfxc.compiler.emit.torch_module import RULES, TorchModule  # noqa: E402  # needs torch

F = Fraction
#: Relative error of doubles after some hundred operations; float32 models round at 2**-24.
DOUBLE, SINGLE = 1e-11, 1e-6
QUICK = settings(max_examples=150)


def tensors(program: Program, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Exact rows as a module's inputs: labels one-hot."""
    found = {}
    for name, sort in program.inputs:
        if sort.kind == "category":
            codes = [sort.index(row[name]) for row in rows]
            column = np.eye(len(sort.labels))[codes]
        else:
            column = np.array([row[name] for row in rows], dtype=object).astype(np.float64)
        shape = (len(sort.labels),) if sort.kind == "category" else sort.shape
        found[name] = torch.from_numpy(column.reshape(len(rows), *shape))
    return found


def wanted(program: Program, name: str, values: Sequence[Any]) -> Any:
    """Exact outputs as a module gives them."""
    sort = program.output_sorts[name]
    if sort.kind == "category":
        return np.eye(len(sort.labels))[[sort.index(value) for value in values]]
    return np.array([np.asarray(value, dtype=object).astype(np.float64) for value in values])


def agrees(program: Program, rows: Sequence[Mapping[str, Any]], rtol: float) -> int:
    """Check every output that has a gradient on some rows; how many there are."""
    outputs = [name for name, _ in program.outputs if not refused(program, [name])]
    if not outputs:
        return 0
    exact = [evaluate(program, row) for row in rows]
    found = TorchModule(program, outputs)(tensors(program, rows))
    assert set(found) == set(outputs)
    for name in outputs:
        values = wanted(program, name, [row[name] for row in exact])
        assert found[name].dtype == torch.float64
        np.testing.assert_allclose(found[name].numpy(), values, rtol=rtol, atol=rtol)
    return len(outputs)


# -- values ----------------------------------------------------------------------------------------

HELD = {
    "arithmetic": 3, "piecewise": 5, "comparisons": 0, "connectives": 5, "categories": 4,
    "vectors": 5, "float32": 1, "forest": 0, "smooth": 4, "activations": 8, "nested": 0,
    "constant": 4,
}  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples(example: Example) -> None:
    program = parse_program(example.text)
    rows = [inputs for inputs, _ in example.cases]
    assert agrees(program, rows if rows[0] else rows[:1], 1e-15) == HELD[example.name]


@QUICK
@given(programs(exact=True), st.data())
def test_drawn_programs(program: Program, data: st.DataObject) -> None:
    rows = data.draw(st.lists(inputs_of(program), min_size=1, max_size=3))
    agrees(program, rows if program.inputs else rows[:1], 0.0)


@pytest.mark.parametrize("name", [op.name for op in RULES if op.name])
@settings(max_examples=12)
@given(data=st.data())
def test_single_ops(name: str, data: st.DataObject) -> None:
    program = data.draw(op_programs(name))
    rows = data.draw(st.lists(inputs_of(program), min_size=1, max_size=3))
    try:
        agrees(program, rows if program.inputs else rows[:1], DOUBLE)
    except VerificationError as error:
        assert "division by zero" in str(error)  # noqa: PT017  # which has no meaning


def test_a_branch_not_taken_may_divide_by_zero() -> None:
    program = parse_program("""program p(x: Real) {
      c: Bool = gt(x, 0)
      if c { y: Real = div(1, x) } else { y: Real = mul(x, 2) }
      return y = y
    }""")
    x = torch.tensor([2.0, 0.0, -3.0], dtype=torch.float64, requires_grad=True)
    y = TorchModule(program)({"x": x})["y"]
    y.sum().backward()
    assert y.tolist() == [0.5, 0.0, -6.0]
    assert x.grad.tolist() == [-0.25, 2.0, 2.0]


# -- models ----------------------------------------------------------------------------------------

LABELS = ["it", "law", "art"]
PAIR = ["age", "pay"]


def people() -> tuple[pd.DataFrame, Any, Any]:
    draw = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": draw.integers(18, 70, 120),
            "pay": draw.normal(3, 1, 120).round(2),
            "job": draw.choice(LABELS, 120),
        }
    )
    score = table.age / 20 + table.pay + (table.job == "law")
    return table, (score > 5.5).astype(int).to_numpy(), np.digitize(score, [5, 6.3])


def encoder(scaler: Any, codes: Any) -> ColumnTransformer:
    return ColumnTransformer([("n", scaler, PAIR), ("c", codes, ["job"])])


MODELS: dict[str, tuple[Any, int, tuple[str, ...]]] = {
    "logistic": (LogisticRegression(), 2, ("score", "probability")),
    "softmax": (LogisticRegression(), 3, ("score", "probability")),
    "mlp": (MLPClassifier((6, 5), max_iter=60, random_state=0), 2, ("score", "probability")),
    "tanh mlp": (
        MLPClassifier((6,), activation="tanh", max_iter=60, random_state=0),
        3,
        ("score", "probability"),
    ),
    "svc": (SVC(kernel="linear"), 2, ("score",)),
    "linear svc": (LinearSVC(), 3, ("score",)),
}


def compiled(name: str) -> tuple[Any, pd.DataFrame, tuple[str, ...], Any]:
    estimator, classes, outputs = MODELS[name]
    table, two, three = people()
    codes = OrdinalEncoder() if name == "mlp" else OneHotEncoder()
    scaler = MinMaxScaler() if name == "softmax" else StandardScaler()
    pipeline = make_pipeline(encoder(scaler, codes), estimator)
    pipeline.fit(table, two if classes == 2 else three)
    return cfxc.compile(pipeline, cfxc.FeatureSpace.infer(table)), table, outputs, pipeline


def exact_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{"age": int(row.age), "pay": F(row.pay), "job": row.job} for row in table.itertuples()]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    model, table, outputs, pipeline = compiled(name)
    program, rows = model.program, exact_rows(table[:8])
    assert refused(program)  # the label
    assert agrees(program, rows, DOUBLE) == len(outputs)
    found = TorchModule(program, outputs)(tensors(program, exact_rows(table)))
    if hasattr(pipeline, "decision_function"):
        scores = pipeline.decision_function(table)
        np.testing.assert_allclose(found["score"].numpy(), scores, rtol=1e-9, atol=1e-9)
    if "probability" in outputs:
        np.testing.assert_allclose(
            found["probability"].numpy(), pipeline.predict_proba(table), rtol=1e-9, atol=1e-9
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_models(name: str) -> None:
    model, _, outputs, _ = compiled(name)
    module = TorchModule(model.program, outputs)
    draw = np.random.default_rng(1)
    weights = draw.dirichlet(np.ones(3), 4)  # relaxed, as the generator's samples are
    points = [draw.uniform(20, 60, 4), draw.normal(3, 1, 4), weights]
    arguments = [torch.tensor(point, requires_grad=True) for point in points]

    def function(age: Any, pay: Any, job: Any) -> tuple[Any, ...]:
        found = module({"age": age, "pay": pay, "job": job})
        return tuple(found[name] for name in outputs)

    assert torch.autograd.gradcheck(function, arguments)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_onnx_files(tmp_path: Any) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    _, table, _, pipeline = compiled("tanh mlp")
    kinds = [
        *((name, FloatTensorType([None, 1])) for name in PAIR),
        ("job", StringTensorType([None, 1])),
    ]
    path = tmp_path / "model.onnx"
    onnx = skl2onnx.convert_sklearn(pipeline, initial_types=kinds, options={"zipmap": False})
    path.write_bytes(onnx.SerializeToString())
    model = cfxc.compile(path, cfxc.FeatureSpace.infer(table))
    assert any(let.op.name == "round_float32" for let in model.program.lets())
    assert agrees(model.program, exact_rows(table[:20]), SINGLE) >= 1


# -- gradients -------------------------------------------------------------------------------------


def gradient(text: str, **inputs: Any) -> dict[str, Any]:
    """The gradients of the sum of all outputs by each input."""
    given = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for name, value in inputs.items()
    }
    total = sum(value.sum() for value in TorchModule(parse_program(text))(given).values())
    total.backward()
    return {name: value.grad.tolist() for name, value in given.items()}


def test_rounding_passes_gradients_through() -> None:
    text = "program p(x: Real) { y: Real = round_float32(x) z: Real = mul(y, 3) return z = z }"
    assert gradient(text, x=[0.1, 7.0]) == {"x": [3.0, 3.0]}


def test_choices_pass_on_the_gradient_of_the_branch_taken() -> None:
    text = """program p(x: Real, y: Real) {
      c: Bool = le(x, y)
      s: Real = mul(x, 2)
      t: Real = mul(y, 5)
      z: Real = select(c, s, t)
      return z = z
    }"""
    assert gradient(text, x=[0.0, 2.0], y=[1.0, 1.0]) == {"x": [2.0, 0.0], "y": [0.0, 5.0]}


def test_weights_of_labels_have_gradients() -> None:
    text = """program p(job: Category{"a", "b", "c"}, x: Real) {
      a: Bool = is_label(job, label="a")
      n: Bool = not(a)
      s: Real = select(n, x, 10.)
      t: Real = lookup(job, labels={"a", "b", "c"}, table=f64[3](1., 2., 4.))
      return s = s, t = t
    }"""
    found = gradient(text, job=[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], x=[3.0, 4.0])
    assert found == {"job": [[8.0, 2.0, 4.0], [7.0, 2.0, 4.0]], "x": [1.0, 0.0]}


@pytest.mark.parametrize("name", ["piecewise", "smooth", "arithmetic"])
def test_gradients_of_examples(name: str) -> None:
    program = parse_program(BY_NAME[name].text)
    module = TorchModule(program)
    arguments = [
        torch.tensor([0.3, -1.7, 2.6], dtype=torch.float64, requires_grad=True)
        for _ in program.inputs
    ]

    def function(*given: Any) -> tuple[Any, ...]:
        found = module(dict(zip((name for name, _ in program.inputs), given, strict=True)))
        return tuple(found.values())

    assert torch.autograd.gradcheck(function, arguments)


# -- completeness and refusals ---------------------------------------------------------------------


def test_every_op_has_a_rule_or_a_reason() -> None:
    known = {*RULES, *REFUSALS}
    assert all(known & set(op.__mro__) for op in REGISTRY.values())
    assert not set(RULES) & set(REFUSALS)
    assert all(reason for reason in REFUSALS.values())


STEPS = {
    "bit: Real = to_real(c)": "m: 'to_real' rests on comparisons alone",
    "bit: Int = select(c, 1, 0)": "m: 'select' rests on comparisons alone",
    "d: Bool = and(c, f) bit: Int = select(d, 1, 0)": "m: 'select' rests on comparisons alone",
    'e: Category{"u", "v"} = select(c, j, j) bit: Real = to_real(c)': "m: 'to_real' rests on",
    "v: Real[2] = concat(x, 1.) bit: Int = argmax(v)": "m: 'argmax' is an index",
    "n: Int = select(f, 1, 0) bit: Category{1, 2} = category(n, labels={1, 2})":
        "m: 'category' is a label by its index",
    "bit: Bool = or(c, f)": "output bit: rests on comparisons alone",
}  # fmt: skip


@pytest.mark.parametrize("body", STEPS)
def test_steps_are_refused(body: str) -> None:
    lines = body.replace(") ", ') @ "m"\n').replace("}\n", "} ") + (
        "" if body.startswith("bit: Bool") else ' @ "m"'
    )
    program = parse_program(
        'program p(x: Real, j: Category{"u", "v"}) {\n c: Bool = gt(x, 0.)\n'
        f' f: Bool = is_label(j, label="u")\n {lines}\n s: Real = mul(x, 2)\n'
        " return bit = bit, s = s }"
    )
    offences = refused(program)
    assert len(offences) == 1
    assert offences[0].startswith(STEPS[body])
    with pytest.raises(UnsupportedError, match="has no useful gradient") as caught:
        TorchModule(program)
    assert caught.value.offences == tuple(offences)
    assert refused(program, ["s"]) == []
    assert set(
        TorchModule(program, ["s"]).forward({"x": torch.ones(1), "j": torch.eye(2)[:1]})
    ) == {"s"}


def test_trees_are_refused_with_their_origin() -> None:
    (offence, *_) = refused(parse_program(BY_NAME["forest"].text))
    assert offence.startswith("forest: 2 trees: 'tree_ensemble' is constant between")


def test_trees_as_nested_conditions_are_refused() -> None:
    offences = refused(parse_program(BY_NAME["nested"].text))
    assert any("'if' rests on comparisons alone" in offence for offence in offences)


def test_truths_of_inputs_are_weights() -> None:
    text = "program p(b: Bool) { y: Real = select(b, 5., 1.) return y = y }"
    program = parse_program(text)
    assert refused(program) == []
    half = TorchModule(program)({"b": torch.tensor([0.0, 0.5, 1.0])})["y"]
    assert half.tolist() == [1.0, 3.0, 5.0]


def test_copies_compute_the_same() -> None:
    module = TorchModule(parse_program(BY_NAME["vectors"].text), ["a", "s"])
    inputs = {"x": torch.tensor([1.0]), "y": torch.tensor([2.0])}
    first, second = module(inputs), copy.deepcopy(module)(inputs)
    assert all(torch.equal(first[name], second[name]) for name in ("a", "s"))


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": None}, "missing or unknown: \\['x'\\]"),
        ({"z": torch.ones(2)}, "missing or unknown: \\['z'\\]"),
        ({"x": torch.ones(3)}, "differ in length: \\[2, 3\\]"),
        ({"x": torch.ones(2, 1)}, "input x: shape"),
        ({"j": torch.ones(2, 3)}, "input j: shape .* one weight per label"),
        ({"x": [1.0, 2.0]}, "input x: list, not a tensor"),
        ({"x": torch.tensor(1.0)}, "input x: shape"),
    ],
)
def test_inputs_are_checked(change: dict[str, Any], words: str) -> None:
    program = parse_program(
        'program p(x: Real, j: Category{"u", "v"}) { '
        'y: Real = lookup(j, labels={"u", "v"}, table=f64[2](1., 2.)) return y = y }'
    )
    given = {"x": torch.ones(2), "j": torch.eye(2)} | change
    with pytest.raises(InvalidInputError, match=words):
        TorchModule(program)({name: value for name, value in given.items() if value is not None})


@pytest.mark.parametrize("outputs", [["score", "odd"], []])
def test_outputs_are_checked(outputs: list[str]) -> None:
    program = parse_program(BY_NAME["forest"].text)
    with pytest.raises(InvalidInputError, match=r"has no output .* it has score, label"):
        refused(program, outputs)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in ("torch_module",):
        monkeypatch.delitem(sys.modules, f"cfxc.compiler.emit.{name}")
    with pytest.raises(MissingExtraError, match=r"cfxc\[amortised\]"):
        importlib.import_module("cfxc.compiler.emit.torch_module")

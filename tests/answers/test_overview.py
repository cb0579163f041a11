"""The page about a batch: its counts are those of the table, and all of it is in one file."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import cfxc
from cfxc.answers import overview
from cfxc.answers.cells import changes_between, changes_text
from cfxc.answers.overview import Answers, changed_of, read_answers
from cfxc.answers.parts import HEAD, PREFIX, part_start

pytest.importorskip("jinja2")

HOSTILE = "<script>{{ 7*7 }}</script>"


def people(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.normal(30, 9, n).round(2),
            HOSTILE: rng.choice(["a", "b"], n),
        }
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> cfxc.CompiledModel:
    """From a file, as on the command line: its certificates name it."""
    X = people()
    linear = LogisticRegression(max_iter=1000)
    linear.fit(X[["age", "pay"]], X["pay"] + X["age"] / 4 > 42)
    chosen = make_column_transformer(("passthrough", ["age", "pay"]))
    tree = make_pipeline(chosen, DecisionTreeClassifier(max_depth=4, random_state=0))
    tree.fit(X, np.where(X["pay"] + X["age"] / 4 > 42, "<yes>", "no"))
    file = tmp_path_factory.mktemp("model") / "tree.joblib"
    joblib.dump(tree, file)
    space = cfxc.FeatureSpace.infer(X)
    return cfxc.compile(file, space, favourable="<yes>", trust_pickle=True)


@pytest.fixture(scope="module")
def kept(model: cfxc.CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("batch") / "answers"
    model.explain_batch(people(), out=folder)
    return folder


def numbers(page: str, title: str) -> dict[str, int]:
    """The first table below a title: what, how many."""
    part = page.split(f"<h2>{title}</h2>")[1].split("</table>")[0]
    rows = re.findall(r"<tr><td>(.*?)</td><td class=\"n\">(\d+)</td>", part)
    return {html.unescape(name): int(count) for name, count in rows}


def test_the_page_counts_what_the_table_says(
    model: cfxc.CompiledModel, kept: Path, tmp_path: Path
) -> None:
    table = model.explain_batch(people())
    counts = table["status"].value_counts()
    for given, rows in ((table, None), (kept, None), (kept, people())):
        path = cfxc.report(given, tmp_path / "r.html", rows=rows, title=HOSTILE)
        page = path.read_text("utf-8")
        assert numbers(page, "Answered and proved") == counts.to_dict()
        for name in ("age", "pay"):
            changes = int(table["changes"].str.contains(rf"\b{name}: ").sum())
            shown = re.search(rf">{name}</text>.*?<text[^>]*>(\d+) \(", page)
            assert (int(shown[1]) if shown else 0) == changes
        sizes = table["changes"][table["changes"] != ""].str.count(" → ").value_counts()
        assert numbers(page, "Which features change") == {str(k): n for k, n in sizes.items()}
        assert "lower quartile" in page
        assert "counterfactuals, measured by l1; lower bounds" in page
        (target,) = set(table["target"].dropna())
        assert f"Asked for: {target}. " in html.unescape(page)
        assert page.count("<td>not searched</td>") == counts.get("unchanged", 0)
        assert (f"Answers: {given}." in page) == (given is kept)
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert "&lt;yes&gt;" in page
        assert "<tr><td>239</td>" in page
        assert not re.search(r"(src|href)=|url\(|@import|http://(?!www\.w3)", page)
        assert page.count("<svg") == 3


def test_groups(model: cfxc.CompiledModel, kept: Path, tmp_path: Path) -> None:
    table, rows = read_answers(kept).table, people()
    path = cfxc.report(kept, tmp_path / "r.html", rows=rows, group=[HOSTILE, "age"])
    page = path.read_text("utf-8")
    found = numbers(page, f"Distances by {html.escape(HOSTILE)}")
    assert found == rows[HOSTILE].value_counts().to_dict()
    quarters = numbers(page, "Distances by age")
    assert len(quarters) == 4
    assert sum(quarters.values()) == len(rows)
    medians = table["distance"][table["status"] == "optimal"].groupby(rows[HOSTILE]).median()
    for value in medians:
        assert f"{value:.6g}" in page


def test_groups_of_missing_values_and_few_numbers(tmp_path: Path) -> None:
    rows = pd.DataFrame({"a": [1.0, 2, np.nan, 1], "b": [True, False, True, True],
                         "c": [None, "x", "y", "x"]})  # fmt: skip
    table = pd.DataFrame(
        {
            "status": ["optimal", "unknown", "infeasible", "error"],
            "distance": [0.5, None, None, None],
            "changes": ["c: missing → x", "", "", ""],
            "reason": ["", "", "", "bad <row>"],
            "lower_bound_proof": ["solver", "none", "solver", None],
            f"{PREFIX}c": ["x", None, None, None],
        }
    )
    page = cfxc.report(table, tmp_path / "r.html", rows=rows, group=["a", "b", "c"]).read_text()
    assert numbers(page, "Distances by a") == {"1.0": 2, "2.0": 1, "missing": 1}
    assert numbers(page, "Distances by b") == {"False": 1, "True": 3}
    assert numbers(page, "Distances by c") == {"x": 2, "y": 1, "missing": 1}
    assert "bad &lt;row&gt;" in page


def test_numbers_that_are_filled_in_or_lost(tmp_path: Path) -> None:
    """Said as on the command line, and read by a report with the rows and without them."""
    X = pd.DataFrame({"a": [0.0, 1, 2, 3, np.nan, np.nan] * 20, "b": np.arange(120.0)})
    model = DecisionTreeClassifier(random_state=0).fit(X, X["a"].isna())
    space = cfxc.FeatureSpace.infer(X).replace("a", missing="free")
    rows = X.iloc[[3, 4]]
    compiled = cfxc.compile(model, space)
    table = pd.concat([
        compiled.explain_batch(rows.iloc[[place]], target=target)
        for place, target in enumerate((True, False))
    ])  # fmt: skip
    lost, filled = table["changes"]
    assert lost == "a: 3 → missing"
    assert filled.startswith("a: missing → ")
    for given in (rows, None):
        page = cfxc.report(table, tmp_path / "r.html", rows=given).read_text("utf-8")
        assert "a: 3 → missing" in page


def test_certificates_are_checked_and_listed(
    model: cfxc.CompiledModel, kept: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "certificates"
    folder.mkdir()
    row = people()[model.predict(people()) == "no"].iloc[[0]]
    made = model.explain(row).certificate
    made.save(folder / "good.json.gz")
    content = json.loads(made.to_json())
    content["claim"]["lower_bound"] = content["claim"]["distance"] + "0"
    (folder / "bad.json").write_text(json.dumps(content))
    (folder / "broken.json").write_text("{")
    with pytest.warns(UserWarning, match="3 of 3 certificates are missing, do not hold"):
        cfxc.report(kept, tmp_path / "r.html", rows=people(), certificates=folder)
    page = (tmp_path / "r.html").read_text("utf-8")
    rows = re.findall(r"<tr><td>(\S+json\S*)</td><td><code>(.*?)</code></td><td>(.*?)</td>"
                      r"<td>(.*?)</td><td>.*?</td></tr>", page)  # fmt: skip
    assert [row[0] for row in rows] == ["bad.json", "broken.json", "good.json.gz"]
    assert rows[2][1:] == (made.content["hash"], "optimal", "accepted; no answer names it")
    assert rows[0][3].startswith("rejected: ")
    assert "no cfxc certificate" in rows[1][3]
    none = tmp_path / "none"
    with pytest.raises(cfxc.InvalidInputError, match="no such folder of certificates"):
        cfxc.report(kept, tmp_path / "r.html", rows=people(), certificates=none)
    with pytest.raises(cfxc.InvalidInputError, match="give rows"):
        cfxc.report(kept, tmp_path / "r.html", certificates=folder)


def test_certificates_are_those_of_the_answers_that_name_them(
    model: cfxc.CompiledModel, tmp_path: Path
) -> None:
    rows, folder, out = people(40), tmp_path / "certificates", tmp_path / "r.html"
    table = model.explain_batch(rows, certificates=folder)
    files = sorted(folder.glob("*.json*"))
    page = cfxc.report(table, out, rows=rows, certificates=folder).read_text("utf-8")
    assert (
        f"All {len(files)} certificates that there are hold, and are those of their answers."
        in page
    )
    assert "by an exact search" not in page

    def told(answers: pd.DataFrame) -> str:
        with pytest.warns(UserWarning, match="are missing, do not hold, or are not those"):
            cfxc.report(answers, out, rows=rows, certificates=folder)
        return html.unescape(out.read_text("utf-8"))

    place = int(np.flatnonzero(table["certificate"] == files[0].name)[0])
    for column, value, said in (
        ("distance", 0.25, "distance: "),
        ("lower_bound", 1e-9, "lower bound: "),
        ("status", "feasible", f"it claims {table['status'].iloc[place]}"),
        ("outcome_before", "<yes>", "outcome before: '<yes>'"),
        ("outcome_after", "no", "outcome after: 'no'"),
    ):
        edited = table.copy()
        edited.iloc[place, edited.columns.get_loc(column)] = value
        assert f"accepted, but not this answer's: {said}" in told(edited)
    edited = table.copy()
    edited.iloc[place, edited.columns.get_loc(f"{PREFIX}age")] += 1
    with pytest.raises(cfxc.InvalidInputError, match="is not the one that was asked about"):
        cfxc.report(edited, out, rows=rows, certificates=folder)
    after = edited.loc[:, [f"{PREFIX}{name}" for name in rows]].set_axis(rows.columns, axis=1)
    pairs = changes_between(rows.iloc[[place]], after.iloc[[place]])
    edited.iloc[place, edited.columns.get_loc("changes")] = changes_text(pairs[0])
    assert "but not this answer's: witness: 'age' is" in told(edited)
    edited = table.copy()
    edited["certificate"] = edited["certificate"].str.upper()
    edited["lower_bound_proof"] = "certificate"
    hidden = [file.rename(file.with_name(f"of-{file.name}")) for file in files]
    page = told(edited)
    assert page.count("missing: there is no such file") == len(files)
    assert "in a certificate that was checked for this report" not in page
    assert "in none: theirs is missing, does not hold, or is another's" in page
    assert "it was not checked here" not in page
    for file, kept in zip(hidden, files, strict=True):
        file.rename(kept)
    odd = model.explain(rows.iloc[[place]], epsilon=0.5).certificate
    kept = files[0].read_bytes()
    odd.save(files[0])
    assert "but it asks otherwise than most: epsilon" in told(table)
    files[0].write_bytes(kept)
    later = table.drop(columns="certificate")  # certificates made by another batch
    page = cfxc.report(later, out, rows=rows, certificates=folder).read_text("utf-8")
    assert (
        f"All {len(files)} certificates that there are hold, and are those of their answers."
        in page
    )
    first, second = (file.read_bytes() for file in files[:2])
    files[0].write_bytes(second)
    files[1].write_bytes(first)
    assert told(table).count("factual: ") == 2
    files[0].unlink()
    assert "missing: there is no such file" in told(table)


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, pd.DataFrame, Any, Path]:
    """Of a line: a compiled model, rows, answers, and their certificates."""
    rows = people(40)[["age", "pay"]]
    linear = LogisticRegression(max_iter=1000).fit(rows, rows["pay"] + rows["age"] / 4 > 42)
    model = cfxc.compile(linear, cfxc.FeatureSpace.infer(rows), favourable=True)
    folder = tmp_path_factory.mktemp("batch") / "certificates"
    return model, rows, model.explain_batch(rows, certificates=folder), folder


def replaced(
    batch: tuple[Any, pd.DataFrame, Any, Path], place: int, model: Any, folder: Path, **asked: Any
) -> Any:
    """The answers and certificates with those of another model or question at one place."""
    _, rows, table, kept = batch
    other = model.explain_batch(rows.iloc[[place]], certificates=folder, **asked)
    for file in set(kept.glob("*.gz")) - {kept / other["certificate"].iloc[0]}:
        (folder / file.name).write_bytes(file.read_bytes())
    return pd.concat([table.iloc[:place], other, table.iloc[place + 1 :]])


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        (["pay <= factual.pay + 1", "age <= factual.age"], "infeasible", "number of constraints"),
        (["pay <= 100"], "optimal", "number of constraints"),
        ([cfxc.Margin(5000)], "infeasible", "the target"),
    ],
)
def test_one_certificate_of_a_narrower_question(
    batch: tuple[Any, pd.DataFrame, Any, Path], asked: list[Any], status: str, said: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    model, rows, table, _ = batch
    place = int(np.flatnonzero(table["status"] == "optimal")[0])
    edited = replaced(batch, place, model, tmp_path / "c", subject_to=asked)
    assert edited["status"].iloc[place] == status
    with pytest.warns(UserWarning, match="1 of .* certificates are missing, do not hold"):
        cfxc.report(edited, tmp_path / "r.html", rows=rows, certificates=tmp_path / "c")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert page.count("it asks otherwise than most: ") == 1
    assert said in page.split("it asks otherwise than most: ")[1].split("</td>")[0]
    assert "<tr><td>the number of constraints</td><td>0</td></tr>" in page
    assert ("Without them a change may exist." in page) == (len(asked) == 2)


def test_networks_of_equal_outputs_are_told_apart(tmp_path: Path) -> None:
    """A model in memory has no file: what its hidden units compute is compared too."""
    rows = people(30)[["age", "pay"]]
    network = MLPClassifier((3,), max_iter=3000, random_state=0)
    network.fit(rows, rows["pay"] + rows["age"] / 4 > 42)
    space = cfxc.FeatureSpace.infer(rows)
    batch = [cfxc.compile(network, space), rows, None, tmp_path / "own"]
    asked: dict[str, Any] = {"target": True, "subject_to": ["pay <= 2 * factual.pay"]}
    batch[2] = batch[0].explain_batch(rows, certificates=batch[3], **asked)
    page = cfxc.report(batch[2], tmp_path / "r.html", rows=rows, certificates=batch[3])
    assert "hold, and are those of their answers.</strong>" in page.read_text("utf-8")
    place = int(np.flatnonzero(batch[2]["status"] == "optimal")[0])
    network.coefs_[0] = network.coefs_[0] * 1.1
    other = cfxc.compile(network, space)
    edited = replaced(tuple(batch), place, other, tmp_path / "c", **asked)  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="1 of .* certificates are missing, do not hold"):
        cfxc.report(edited, tmp_path / "r.html", rows=rows, certificates=tmp_path / "c")
    said = (tmp_path / "r.html").read_text("utf-8")
    assert "it asks otherwise than most: the program<" in said


def test_certificates_are_compared_with_a_policy(
    batch: tuple[Any, pd.DataFrame, Any, Path], tmp_path: Path
) -> None:
    """All of a batch may ask alike, and not what they should."""
    model, rows, table, folder = batch
    policy, out = tmp_path / "policy.toml", tmp_path / "r.html"
    asked = 'target = true\nnorms = "l1"\nepsilon = 0.001\n'
    policy.write_text(asked + model.space.to_toml(), "utf-8")
    given: dict[str, Any] = {"rows": rows, "certificates": folder}
    page = cfxc.report(table, out, **given, policy=policy).read_text("utf-8")
    assert f"compared with the policy {policy}" in page
    assert "with no policy" not in page
    assert "with no policy" in cfxc.report(table, out, **given).read_text("utf-8")
    policy.write_text(asked.replace("l1", "l0") + model.space.to_toml(), "utf-8")
    with pytest.warns(UserWarning, match="are missing, do not hold"):
        cfxc.report(table, out, **given, policy=policy)
    assert "rejected: policy: another distance" in out.read_text("utf-8")
    for wrong, said in ((given, "cannot be read"), ({}, "a policy is what certificates are")):
        with pytest.raises(cfxc.InvalidInputError, match=said):
            cfxc.report(table, out, **wrong, policy=tmp_path / "none.toml")


def test_answers_that_were_cut_or_repeated(
    batch: tuple[Any, pd.DataFrame, Any, Path], tmp_path: Path
) -> None:
    _, rows, table, folder = batch
    out, file = tmp_path / "r.html", tmp_path / "answers.csv"

    def told(answers: pd.DataFrame, **more: Any) -> str:
        answers.rename_axis("row").to_csv(file)
        return cfxc.report(file, out, rows=rows, **more).read_text("utf-8")

    assert "40 instances. " in told(table)
    assert "9 instances, of 40 rows that were given. " in told(table.iloc[:9])
    for places in ([*range(9), 3], [*range(39), 3]):  # also of as many as were asked about
        with pytest.raises(cfxc.InvalidInputError, match="row 3 is answered twice"):
            told(table.iloc[places])
    with pytest.raises(cfxc.InvalidInputError, match="row 3 is answered twice"):
        cfxc.report(table.iloc[[*range(9), 3]], out, rows=rows)
    for column in ("outcome_before", "outcome_after"):
        with pytest.warns(UserWarning, match="are missing, do not hold"):
            page = told(table.assign(**{column: None}), certificates=folder)
        assert f"{column.replace('_', ' ')}: None" in page
    for column in ("outcome_before", "outcome_after", "lower_bound", "reason"):
        with pytest.raises(cfxc.MissingColumnError, match=f"no column '{column}'"):
            told(table.drop(columns=column), certificates=folder)
    with pytest.raises(cfxc.InvalidInputError, match="'distance' holds something else than n"):
        told(table.assign(distance="far"))


@pytest.mark.parametrize("labels", [["true", "false", "maybe"], ["1", "2", "07"]])
def test_labels_of_a_file_that_read_as_something_else(labels: list[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"said": rng.choice(labels, 60), "n": rng.integers(0, 9, 60)})
    wanted = (rows["said"] == labels[0]) | (rows["n"] > 6)
    encode = make_column_transformer((OneHotEncoder(), ["said"]), remainder="passthrough")
    tree = make_pipeline(encode, DecisionTreeClassifier(random_state=0)).fit(rows, wanted)
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(rows))
    refused, folder = rows[~wanted].reset_index(drop=True), tmp_path / "certificates"
    table = model.explain_batch(refused, target=True, distance="l0", certificates=folder)
    table.rename_axis("row").to_csv(tmp_path / "answers.csv")
    page = cfxc.report(
        tmp_path / "answers.csv", tmp_path / "r.html", rows=refused, certificates=folder
    )
    assert "hold, and are those of their answers" in page.read_text("utf-8")


def test_outcomes_of_a_file_are_those_of_its_certificates(tmp_path: Path) -> None:
    rows = people(60)[["age", "pay"]]
    folder, out, file = tmp_path / "certificates", tmp_path / "r.html", tmp_path / "answers.csv"
    grades = np.where(rows["pay"] > 30, "1.50", "2.00")
    value = DecisionTreeRegressor(max_depth=3, random_state=0).fit(rows, rows["pay"])
    grade = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, grades)
    for name, tree, target in (("value", value, (40, None)), ("grade", grade, "1.50")):
        model = cfxc.compile(tree, cfxc.FeatureSpace.infer(rows))
        held = np.array([tree.predict(rows) == target if name == "grade" else rows["pay"] > 25])
        asked = rows[~held.ravel()]
        table = model.explain_batch(asked, target=target, certificates=folder / name)
        table.rename_axis("row").to_csv(file)
        page = cfxc.report(file, out, rows=rows, certificates=folder / name).read_text("utf-8")
        assert "hold, and are those of their answers.</strong>" in page
        for column in ("outcome_before", "outcome_after"):
            table.assign(**{column: "7.25"}).rename_axis("row").to_csv(file)
            with pytest.warns(UserWarning, match=f"{len(table)} of {len(table)} certificates"):
                cfxc.report(file, out, rows=rows, certificates=folder / name)
        blank = table.assign(certificate=[*table["certificate"].iloc[:-1], ""])
        (folder / name / table["certificate"].iloc[-1]).unlink()
        blank.rename_axis("row").to_csv(file)
        with pytest.warns(UserWarning, match="1 answers have no certificate that holds"):
            page = cfxc.report(file, out, rows=rows, certificates=folder / name).read_text("utf-8")
        assert "<strong>1 of the answers have no certificate that holds. " in page


def test_a_batch_that_is_not_done(kept: Path, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    (folder / HEAD).write_bytes((kept / HEAD).read_bytes())
    with pytest.raises(cfxc.InvalidInputError, match="nothing is answered yet"):
        cfxc.report(folder, tmp_path / "r.html")
    last = max(kept.glob("part-*")).name
    (folder / last).write_bytes((kept / last).read_bytes())
    page = cfxc.report(folder, tmp_path / "r.html", rows=people(), group=HOSTILE).read_text()
    assert numbers(page, "Answered and proved")["not asked yet"] == part_start(Path(last))
    for again in (240, part_start(Path(last)) + 1):
        twice = folder / f"part-{again:09d}.parquet"
        twice.write_bytes((kept / last).read_bytes())
        with pytest.raises(cfxc.InvalidInputError, match="parts hold an instance twice, or more"):
            cfxc.report(folder, tmp_path / "r.html")
        twice.unlink()
    (folder / last).write_bytes(b"none")
    with pytest.raises(cfxc.InvalidInputError, match=rf"{last}.*damaged"):
        cfxc.report(folder, tmp_path / "r.html")


def test_only_the_first_answers_are_listed(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "LISTED", 7)
    page = cfxc.report(kept, tmp_path / "r.html").read_text("utf-8")
    assert "The first 7; 233 more are in the batch." in page


def test_wrong_reports(kept: Path, tmp_path: Path) -> None:
    out, rows = tmp_path / "r.html", people()
    other = rows.assign(pay=rows["pay"] + 1)
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (kept, {"path": "r.pdf"}, "a report is .html"),
        (tmp_path, {}, "no answers of a batch"),
        (7, {}, "not int"),
        (pd.DataFrame({"a": [1]}), {}, "no column 'status'"),
        (kept, {"group": "age"}, "give rows"),
        (kept, {"rows": rows, "group": "agee"}, "no column 'agee' .nearest: 'age'"),
        (
            kept,
            {"rows": rows.iloc[:9]},
            "of the 240 that were asked about .* such as 9, are not among these 9; give the table",
        ),
        (kept, {"rows": other}, "is not the one that was asked about"),
        (kept, {"rows": rows[["age"]]}, "no column 'pay'"),
        (kept, {"rows": 3}, "rows are a table"),
    ]
    for given, more, said in wrong:
        with pytest.raises(cfxc.CfxcError, match=said):
            cfxc.report(given, **{"path": out, **more})
        assert not out.exists()


def answers(changes: str, **after: str) -> Answers:
    table = pd.DataFrame([{"status": "optimal", "changes": changes,
                           **{PREFIX + name: value for name, value in after.items()}}])  # fmt: skip
    return Answers(table, np.arange(1), 1, "the table")


def test_changes_are_read_as_they_were_written() -> None:
    assert changed_of(answers("a: 1 → 2; c: x → y", a="2", b="3", c="y")) == [["a", "c"]]
    assert changed_of(answers("a: b: 3 → 2", a="2", b="3")) == [["a"]]
    tricky = answers("a: 1 → 2; b: 1 → 3", a="2; b: 1 → 3", b="3")
    assert changed_of(tricky) == [["a"]]
    both = answers("a: x → 2; b: 1 → 2", a="2", b="2")
    with pytest.raises(cfxc.InvalidInputError, match="give the rows"):
        changed_of(both)

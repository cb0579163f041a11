"""``explain_batch``: everybody gets the answer of ``explain``, whatever happens in between."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import cfxc
from cfxc import stopping
from cfxc.answers import batch, explaining, parts, together
from cfxc.answers.cells import first_alike
from cfxc.answers.original import Original
from cfxc.answers.parts import OWED, PREFIX, TOO_LONG, UNASKED, table_of


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "income": rng.normal(30, 8, 300).round(2),
            "member": rng.integers(0, 2, 300).astype(bool),
        },
        index=[f"person {i}" for i in range(300)],
    )
    y = (X["income"] + X["age"] / 4 + 5 * X["member"] + rng.normal(0, 3, 300) > 44).astype(int)
    return X, y


MODELS = {
    "forest": RandomForestClassifier(20, max_depth=5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, max_depth=3, random_state=0),
    "linear": LogisticRegression(max_iter=1000),
}


@pytest.fixture(scope="module", params=list(MODELS))
def case(request, data):
    X, y = data
    model = MODELS[request.param].fit(X, y)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(X))
    return compiled, X[model.predict(X) == 0].iloc[:25]


def same_as_alone(compiled, people, table):
    assert list(table.index) == list(people.index)
    for i, (_, row) in enumerate(table.iterrows()):
        alone = compiled.explain(people.iloc[[i]], target=1)
        assert row["status"] == alone.status == "optimal"
        assert row["distance"] == alone.distance
        assert row["lower_bound"] == alone.lower_bound
        assert (row["outcome_before"], row["outcome_after"]) == (0, 1)
        assert row["lower_bound_proof"] == alone.lower_bound_proof
        names = [f"{PREFIX}{column}" for column in people.columns]
        assert row[names].tolist() == alone.counterfactual.iloc[0].tolist()
        assert all(name in row["changes"] for name in alone.changes)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_batch_stays_in_its_folders(case, n_jobs, tmp_path, monkeypatch):
    """Also when Python goes elsewhere meanwhile, as a callback does here after the first part."""
    compiled, people = case
    begun, other = tmp_path / "begun", tmp_path / "other"
    begun.mkdir()
    other.mkdir()
    monkeypatch.chdir(begun)
    run = batch.Run(n_jobs, "out", "proofs", part=lambda _: os.chdir(other))
    table = batch.explain_rows(compiled, cfxc.Question(target=1), people[:6], run)
    assert not [*other.iterdir()]
    assert all((begun / "proofs" / name).exists() for name in table["certificate"])
    assert sum(len(pd.read_parquet(each)) for each in (begun / "out").glob("part-*")) == 6


def test_every_answer_is_that_of_explain(case):
    compiled, people = case
    table = compiled.explain_batch(people, target=1)
    same_as_alone(compiled, people, table)
    for column in people.columns:
        assert table[f"{PREFIX}{column}"].dtype == people[column].dtype


def test_processes_give_the_same_answers(case):
    compiled, people = case
    many = pd.concat([people] * 9)
    one, two = (compiled.explain_batch(many, target=1, n_jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.drop(columns="seconds"), two.drop(columns="seconds"))


def test_rows_that_are_alike_are_asked_about_once(case, monkeypatch):
    compiled, people = case
    requested = []
    answers = together.Together.answers

    def noted(self, rows):
        requested.extend(rows.index)
        return answers(self, rows)

    monkeypatch.setattr(together.Together, "answers", noted)
    monkeypatch.setattr(batch, "PART", 7)
    many = pd.concat([people.iloc[:10], people.iloc[3:6], people.iloc[:9], people.iloc[:9]])
    table = compiled.explain_batch(many, target=1)
    assert len(requested) == 10
    alone = compiled.explain_batch(people.iloc[:10], target=1).drop(columns="seconds")
    pd.testing.assert_frame_equal(table.drop(columns="seconds"), alone.loc[many.index])
    assert (table["seconds"] > 0).tolist() == [True] * 10 + [False] * 21


def test_cells_that_only_look_alike_are_not_one_row():
    mixed = pd.DataFrame({"a": [1, True, "1", 1.0, None, np.nan, 1], "b": [0.0] * 7}, dtype=object)
    assert first_alike(mixed).tolist() == [0, 1, 2, 3, 4, 5, 0]
    numbers = pd.DataFrame({"a": [1.0, np.nan, 1.0, np.nan], "b": list("xyxy")})
    assert first_alike(numbers).tolist() == [0, 1, 0, 1]


def test_what_the_deployed_model_refuses_is_searched_again(case, monkeypatch):
    compiled, people = case
    searched = []
    monkeypatch.setattr(Original, "flips", _doubted(Original.flips))
    answer = explaining.Explainer.answer

    def noted(self, frame, started=None):
        searched.append(frame.index[0])
        return answer(self, frame, started)

    monkeypatch.setattr(explaining.Explainer, "answer", noted)
    compiled.explain_batch(people, target=1)
    by_row = compiled.explain(people.iloc[[0]], target=1).solver == "box search"
    assert searched[:-1] == (list(people.index) if by_row else [])


def _doubted(flips):
    """``flips`` that refuses a point once, after the model was asked of all at once."""

    def doubt(self, point):
        if not self.trusted and getattr(self, "told", False):
            return False
        self.told = self.trusted
        return flips(self, point)

    return doubt


def test_rows_that_cannot_be_asked_about(data):
    X, y = data
    model = MODELS["forest"].fit(X, y)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(X))
    refused = X[model.predict(X) == 0].iloc[:2]
    accepted = X[model.predict(X) == 1].iloc[:1]
    odd = refused.iloc[:1].assign(age=1000)
    table = compiled.explain_batch(pd.concat([refused, accepted, odd]), target=1)
    assert table["status"].tolist() == ["optimal", "optimal", "unchanged", "error"]
    assert "1000 is outside of the range" in table["reason"].iloc[3]
    with pytest.raises(cfxc.InvalidInputError, match=r"no instance can be answered: .*target 7"):
        compiled.explain_batch(refused, target=7)


def test_nobody_moves_where_nothing_may(data):
    X, y = data
    model = MODELS["forest"].fit(X, y)
    fixed = cfxc.compile(model, cfxc.FeatureSpace.infer(X, fixed=list(X.columns)))
    refused = X[model.predict(X) == 0].iloc[:3]
    table = fixed.explain_batch(refused, target=1)
    assert table["status"].tolist() == ["infeasible"] * 3
    assert table["distance"].isna().all()
    assert table[f"{PREFIX}age"].isna().all()
    assert table["reason"].str.startswith("because").all()


class Picky:
    """A predictor that raises of one age, alone or among others."""

    def __init__(self, inner, age):
        self.inner, self.age = inner, age

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def predict(self, rows):
        if (rows["age"] == self.age).any():
            raise ValueError("Found unknown categories\nand a second line")
        return self.inner.predict(rows)


def test_a_row_that_the_model_itself_refuses(case):
    """It gets the reason, and all others their answers: wanted, refused or already there."""
    compiled, people = case
    people = people.reset_index(drop=True)
    has = compiled.explain(people.iloc[[0]], target=1).counterfactual
    rows = pd.concat([people, has, has.assign(age=people["age"][2])], ignore_index=True)
    expected = compiled.explain_batch(rows, target=1)
    picky = dataclasses.replace(compiled, predictor=Picky(compiled.predictor, rows["age"][2]))
    table = picky.explain_batch(rows, target=1)
    bad = table["status"] == "error"
    assert bad[rows["age"] == rows["age"][2]].all()
    assert table["reason"][bad].str.contains("the model itself cannot predict").all()
    assert table["reason"][bad].str.contains("ValueError: Found unknown categories").all()
    assert (~bad).sum() > len(rows) / 2
    assert table["status"].tolist()[-2] == expected["status"].tolist()[-2] == "unchanged"
    columns = ["status", "distance", "changes"]
    pd.testing.assert_frame_equal(table.loc[~bad, columns], expected.loc[~bad, columns])
    with pytest.raises(cfxc.InvalidInputError, match=r"cannot predict .*correct the row"):
        picky.explain(rows.iloc[[2]], target=1)


def test_a_fault_of_ours_is_one_rows_error(case, monkeypatch):
    compiled, people = case
    query = explaining.Explainer._query

    def faulty(self, frame, before=None, cells=None):
        if frame.index[0] == people.index[1]:
            raise ZeroDivisionError("of ours")
        return query(self, frame, before)

    monkeypatch.setattr(explaining.Explainer, "_query", faulty)
    table = compiled.explain_batch(people.iloc[:3], target=1)
    assert table["status"].tolist() == ["optimal", "error", "optimal"]
    assert table["reason"].iloc[1].startswith("internal error, please report it: ZeroDivisionError")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"rows": [1, 2]}, "takes a DataFrame"),
        ({"rows": pd.DataFrame()}, "no rows"),
        ({"progress": 3}, "progress is a function"),
        ({"total_time_limit": 0}, "total_time_limit"),
        ({"count": 2}, "takes no count"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"distance": "l7"}, "l7"),
        ({"epsilon": -1}, "epsilon"),
    ],
)
def test_bad_arguments(case, arguments, match):
    compiled, people = case
    with pytest.raises(cfxc.CfxcError, match=match):
        compiled.explain_batch(**{"rows": people, "target": 1, **arguments})


class TestOut:
    """Answers kept on disk."""

    @pytest.fixture(autouse=True)
    def _small_parts(self, monkeypatch):
        pytest.importorskip("pyarrow")
        monkeypatch.setattr(batch, "PART", 10)
        monkeypatch.setattr(batch, "FIRST", 10)

    def test_a_batch_goes_on_where_it_was_broken_off(self, case, tmp_path, monkeypatch):
        compiled, people = case
        out = tmp_path / "answers"
        told = []

        def stop(done, of):
            told.append((done, of))
            if done >= 20:
                raise KeyboardInterrupt

        broken = compiled.explain_batch(people, target=1, out=out, progress=stop)
        same_as_alone(compiled, people.iloc[:20], broken.iloc[:20])
        assert broken.index.equals(people.index)
        assert set(broken["status"].iloc[20:]) == {"unknown"}
        assert set(broken["reason"].iloc[20:]) == {UNASKED}
        assert told == [(10, 25), (20, 25)]
        files = sorted(out.glob("part-*.parquet"))
        assert [len(pd.read_parquet(file)) for file in files] == [10, 10]
        asked = []
        answers = together.Together.answers
        monkeypatch.setattr(
            together.Together,
            "answers",
            lambda self, frames: asked.append(len(frames)) or answers(self, frames),
        )
        table = compiled.explain_batch(people, target=1, out=out)
        assert asked == [5]
        same_as_alone(compiled, people, table)
        again = compiled.explain_batch(people, target=1, out=out)
        assert asked == [5]
        pd.testing.assert_frame_equal(again, table)
        pd.testing.assert_frame_equal(pd.read_parquet(out), table)

    def test_another_question_is_refused(self, case, tmp_path):
        compiled, people = case
        out = tmp_path / "answers"
        compiled.explain_batch(people, target=1, out=out)
        for other, rows in (({"epsilon": 0.1}, people), ({}, people.iloc[::-1])):
            with pytest.raises(cfxc.InvalidInputError, match="another question"):
                compiled.explain_batch(rows, target=1, out=out, **other)

    def test_what_is_not_ours_is_left_alone(self, case, tmp_path):
        compiled, people = case
        (tmp_path / "letter.txt").write_text("dear")
        with pytest.raises(cfxc.InvalidInputError, match="no directory of answers"):
            compiled.explain_batch(people, target=1, out=tmp_path)
        with pytest.raises(cfxc.InvalidInputError, match="no directory of answers"):
            compiled.explain_batch(people, target=1, out=tmp_path / "letter.txt")
        with pytest.raises(cfxc.InvalidInputError, match=r"does not end in \.xlsx"):
            compiled.explain_batch(people, target=1, out=tmp_path / "answers.xlsx")
        with pytest.raises(cfxc.InvalidInputError, match=r"does not end in \.json"):
            compiled.explain_batch(people, target=1, certificates=tmp_path / "kept.json")
        assert not Path(tmp_path, "answers.xlsx").exists()

    def test_a_damaged_head(self, case, tmp_path):
        compiled, people = case
        head = Path(tmp_path, "_question.json")
        for text in ("", "[", json.dumps({"rows": 3})):
            head.write_text(text)
            with pytest.raises(cfxc.InvalidInputError, match="another question"):
                compiled.explain_batch(people, target=1, out=tmp_path)

    def test_parts_of_different_answers_are_one_table(self, case, tmp_path, monkeypatch):
        compiled, people = case
        monkeypatch.setattr(batch, "PART", 2)
        odd = people.iloc[[0]].assign(age=1000)
        rows = pd.concat([people.iloc[:2], odd, odd, people.iloc[2:3], odd])
        table = compiled.explain_batch(rows, target=1, out=tmp_path / "answers")
        assert table["status"].tolist() == ["optimal"] * 2 + ["error"] * 2 + ["optimal", "error"]
        whole = pd.read_parquet(tmp_path / "answers")
        assert whole["status"].tolist() == table["status"].tolist()
        assert whole["distance"].tolist()[:2] == table["distance"].tolist()[:2]
        missing = whole[f"{PREFIX}age"].isna()
        assert missing.tolist() == (table["status"] == "error").tolist()

    def test_without_the_package(self, case, tmp_path, monkeypatch):
        compiled, people = case
        monkeypatch.setattr(parts, "find_spec", lambda name: None)
        with pytest.raises(cfxc.MissingExtraError, match="cfxc\\[parquet\\]"):
            compiled.explain_batch(people, target=1, out=tmp_path / "answers")

    def test_damaged_and_foreign_parts_are_named(self, case, tmp_path):
        compiled, people = case
        out = tmp_path / "answers"
        compiled.explain_batch(people, target=1, out=out)
        part = out / "part-000000010.parquet"
        good = part.read_bytes()
        other = out / "part-000000020.parquet"
        for bad in (good[:500], b"", b"PAR1 junk PAR1"):
            part.write_bytes(bad)
            with pytest.raises(cfxc.InvalidInputError, match=r"part-000000010.*: delete it, and"):
                compiled.explain_batch(people, target=1, out=out)
        part.write_bytes(good)
        last = other.read_bytes()
        other.write_bytes(good)
        with pytest.raises(cfxc.InvalidInputError, match=r"part-000000020.*: delete it, and"):
            compiled.explain_batch(people, target=1, out=out)
        other.write_bytes(last)
        people.to_parquet(part)
        with pytest.raises(
            cfxc.InvalidInputError, match=r"part-000000010.*other instances or columns"
        ):
            compiled.explain_batch(people, target=1, out=out)
        part.write_bytes(good)
        (out / "part-7.parquet").write_bytes(good)
        with pytest.raises(cfxc.InvalidInputError, match=r"part-7.parquet: no part of these"):
            compiled.explain_batch(people, target=1, out=out)

    @pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind")
    def test_a_second_run_at_once_is_refused(self, case, tmp_path):
        """Parts of two runs would overlap: rows twice for whoever reads the folder."""
        compiled, people = case
        out = tmp_path / "answers"
        refused = []

        def part(table):
            with pytest.raises(cfxc.InvalidInputError, match="another run is writing there") as one:
                compiled.explain_batch(people, target=1, out=out)
            refused.append(one)

        run = batch.Run(out=out, part=part)
        question = cfxc.Question(target=1)
        whole = batch.explain_rows(compiled, question, people, run)
        assert refused
        again = compiled.explain_batch(people, target=1, out=out)
        assert again["status"].tolist() == whole["status"].tolist()

    def test_a_full_disk_leaves_whole_parts(self, case, tmp_path, monkeypatch):
        compiled, people = case
        out = tmp_path / "answers"
        written = pd.DataFrame.to_parquet

        def full(frame, path, **options):
            written(frame, path, **options)
            if len(list(out.glob("part-*"))) == 1:
                path.write_bytes(path.read_bytes()[:99])
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
        with pytest.raises(cfxc.InvalidInputError, match=r"part-000000010.*No space left"):
            compiled.explain_batch(people, target=1, out=out)
        assert {path.name for path in out.iterdir()} == {
            "_question.json",
            "part-000000000.parquet",
        }

    def test_what_parquet_has_no_type_for(self, data, tmp_path):
        X, y = data
        odd = X.assign(member=[1 if one else "no" for one in X["member"]])
        space = cfxc.FeatureSpace.infer(X)
        compiled = cfxc.compile(MODELS["forest"].fit(X, y), space)
        with pytest.raises(cfxc.InvalidInputError, match=r"member.*one type"):
            compiled.explain_batch(odd.iloc[:3], target=1, out=tmp_path / "answers")


class TestTime:
    """All rows together have so much time."""

    def test_what_is_not_answered_in_time_is_asked_again(self, case, tmp_path, monkeypatch):
        pytest.importorskip("pyarrow")
        compiled, people = case
        out, clock = tmp_path / "answers", [0.0]
        monkeypatch.setattr(batch, "time", lambda: clock[0])
        monkeypatch.setattr(batch, "PART", 4)

        def later(done, of):
            clock[0] += 1.0

        broken = compiled.explain_batch(
            people, target=1, out=out, total_time_limit=3, progress=later
        )
        done = (broken["status"] == "optimal").to_numpy()
        assert 0 < done.sum() < len(people)
        assert done[: done.sum()].all()
        assert set(broken["status"][~done]) == {"unknown"}
        table = compiled.explain_batch(people, target=1, out=out)
        same_as_alone(compiled, people, table)
        kept = pd.read_parquet(out)
        pd.testing.assert_frame_equal(kept, table)
        pd.testing.assert_frame_equal(kept[done], broken[done], check_dtype=False)

    def test_a_row_that_had_less_than_its_time_is_asked_again(self, case, monkeypatch):
        compiled, people = case
        begun = together.Together._begun

        def slow(self, frame, before, cells):
            if frame.index[0] == people.index[2]:
                monkeypatch.setattr(together, "left", lambda: 0.0)
                return begun(self, frame, before, cells)[0], together.LIMIT
            return begun(self, frame, before, cells)

        monkeypatch.setattr(together.Together, "_begun", slow)
        question = together.Together.of(compiled, cfxc.Question(target=1))
        table = batch.answer_part(question, people)
        assert table["status"].tolist() == ["optimal"] * 2 + ["unknown"] * 23

    def test_parts_take_about_as_long_as_they_should(self, case, monkeypatch):
        compiled, people = case
        monkeypatch.setattr(batch, "SECONDS", 1e-9)
        told = []
        compiled.explain_batch(people.iloc[:4], target=1, progress=lambda *now: told.append(now))
        assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_half_way_it_goes_on(case, tmp_path, jobs):
    """Whatever parts there are, also with gaps, no row is answered twice, and none is lost."""
    pytest.importorskip("pyarrow")
    compiled, people = case
    people = pd.concat([people, people.iloc[5:9], people.iloc[[0]]])
    out = tmp_path / "answers"
    whole = compiled.explain_batch(people, target=1, out=out)
    parts = sorted(out.glob("part-*"))
    for gone in (parts[1:], parts[:1], parts[1:2]):
        for part in gone:
            part.unlink(missing_ok=True)
        (out / ".part-000000001.abc.parquet").write_bytes(b"half")
        table = compiled.explain_batch(people, target=1, out=out, n_jobs=jobs)
        pd.testing.assert_frame_equal(table.drop(columns="seconds"), whole.drop(columns="seconds"))
        kept = pd.read_parquet(out)
        pd.testing.assert_frame_equal(kept.drop(columns="seconds"), whole.drop(columns="seconds"))


def test_numbers_are_numbers_where_a_part_has_none(case):
    nothing = table_of(case[1].iloc[:2], [None, None], False)
    assert (nothing.dtypes[["distance", "lower_bound", "seconds"]] == np.float64).all()


def test_certificates_in_a_folder(case, tmp_path):
    compiled, people = case
    folder = tmp_path / "certificates"
    rows = people.iloc[[0, 1, 0]].set_axis([7, 9, 11])
    table = compiled.explain_batch(rows, target=1, certificates=folder)
    names = ["row-7.json.gz", "row-9.json.gz", "row-7.json.gz"]
    assert table["certificate"].tolist() == names
    assert table["lower_bound_proof"].tolist() == ["certificate"] * 3
    assert {path.name for path in folder.iterdir()} == set(names)
    assert all(cfxc.check(folder / name).ok for name in names)
    for labels in ([5, 5, 6], [1, "a", 0]):  # that name no row, or not all
        rows = people.iloc[[0, 1, 2]].set_axis(labels)
        table = compiled.explain_batch(rows, target=1, certificates=tmp_path / f"{labels[0]}")
        named = [name for name in table["certificate"] if name]
        assert named == [f"row-{i}.json.gz" for i, name in enumerate(table["certificate"]) if name]
    odd = people.iloc[:1].assign(age=1000)
    table = compiled.explain_batch(pd.concat([people.iloc[:1], odd]), target=1, certificates=folder)
    assert table["certificate"].tolist() == ["row-0.json.gz", ""]


def test_certificates_are_made_within_the_time_of_all_rows(case, tmp_path, monkeypatch):
    """Answers first; the next runs make what is owed, and give up what takes a run of its own."""
    pytest.importorskip("pyarrow")
    compiled, people = case
    rows = people.iloc[[0, 1, 2, 1, 3]]
    done = compiled.explain_batch(rows, target=1, certificates=tmp_path / "all")
    made = parts.Result.certificate.fget

    def slow(answer):
        while answer.factual.iloc[0].equals(rows.iloc[1]):  # for ever
            stopping.poll()
            time.sleep(0.01)
        return made(answer)

    monkeypatch.setattr(parts.Result, "certificate", property(slow))
    out, folder, runs = tmp_path / "out", tmp_path / "certificates", []
    while len(runs) < 8 and not (runs and runs[-1]["certificate"].ne(OWED).all()):
        started = time.monotonic()
        table = compiled.explain_batch(
            rows, target=1, out=out, certificates=folder, total_time_limit=2.0
        )
        assert time.monotonic() - started < 4
        pd.testing.assert_frame_equal(
            table.drop(columns=["certificate", "lower_bound_proof", "seconds"]),
            done.drop(columns=["certificate", "lower_bound_proof", "seconds"]),
        )
        runs.append(table)
    names = [f"row-{i}.json.gz" for i in range(3)]
    assert runs[0]["certificate"].tolist() == [names[0], *[OWED] * 4]
    assert runs[1]["certificate"].tolist() == [names[0], TOO_LONG, OWED, TOO_LONG, OWED]
    assert runs[2]["certificate"].tolist()[1] == TOO_LONG
    assert len(runs) == 3
    assert runs[2]["certificate"].tolist()[4] == "row-4.json.gz"


class TestOwed:
    """Certificates that there was no time for, whatever happens in between."""

    @pytest.fixture
    def slow(self, monkeypatch):
        """Seconds that a certificate takes more, in a list, which may be changed."""
        made, more = parts.Result.certificate.fget, [60.0]

        def later(answer):
            end = time.monotonic() + more[0] * (not answer.unchanged)
            while time.monotonic() < end:
                stopping.poll()
                time.sleep(0.005)
            return made(answer)

        monkeypatch.setattr(parts.Result, "certificate", property(later))
        return more

    @pytest.fixture
    def asked(self, case, tmp_path):
        pytest.importorskip("pyarrow")
        return case[0], {"out": tmp_path / "o", "certificates": tmp_path / "c", "target": 1}

    def test_a_part_that_is_gone_gets_the_answers_of_its_own_rows(self, case, asked, slow, data):
        (compiled, given), people = asked, case[1]
        granted = data[0][compiled.predict(data[0]) == 1].iloc[:2]
        rows = pd.concat([people.iloc[[0]], granted, people.iloc[[0]]], ignore_index=True)
        compiled.explain_batch(rows, total_time_limit=0.5, **given)

        def break_off(done, total):
            if done == total:
                raise KeyboardInterrupt

        compiled.explain_batch(rows, progress=break_off, **given)
        first = sorted(given["out"].glob("part-*"))[0]
        first.unlink()
        compiled.explain_batch(rows, total_time_limit=1e-6, **given)
        slow[0] = 0
        table = compiled.explain_batch(rows, **given)
        assert table["status"].tolist() == ["optimal", "unchanged", "unchanged", "optimal"]
        assert table["certificate"].tolist() == ["row-0.json.gz", "", "", "row-0.json.gz"]
        assert table.index.tolist() == [0, 1, 2, 3]
        assert compiled.explain_batch(rows, **given).index.tolist() == [0, 1, 2, 3]

    def test_certificates_that_are_gone_are_made_again(self, case, asked):
        (compiled, given), rows = asked, case[1].iloc[:3].reset_index(drop=True)
        table = compiled.explain_batch(rows, **given)
        (given["certificates"] / "row-1.json.gz").unlink()
        pd.testing.assert_frame_equal(
            compiled.explain_batch(rows, **given).drop(columns="seconds"),
            table.drop(columns="seconds"),
        )
        assert cfxc.check(given["certificates"] / "row-1.json.gz").ok

    def test_what_is_unknown_has_none_and_owes_none(self, case, asked, monkeypatch, slow):
        (compiled, given), rows = asked, case[1].iloc[:2]
        slow[0] = 0
        monkeypatch.setattr(
            together.Together,
            "answers",
            lambda self, frames: [
                dataclasses.replace(
                    self.answer(frames.iloc[[i]]), status="unknown", counterfactual=None
                )
                for i in range(len(frames))
            ],
        )
        monkeypatch.setattr(batch, "is_over", lambda: True)
        table = compiled.explain_batch(rows, **given)
        assert table["status"].tolist() == ["unknown"] * 2
        assert (table["certificate"] != OWED).all()

    @pytest.mark.parametrize("states", [["feasible", "optimal"], ["optimal", "feasible"]])
    def test_a_better_answer_is_taken_and_a_worse_one_is_not(
        self, case, asked, monkeypatch, slow, states
    ):
        (compiled, given), rows = asked, case[1].iloc[:1]
        answers = together.Together.answers
        better, states = states[1] == "optimal", iter(states)

        def changing(self, frames):
            return [dataclasses.replace(one, status=next(states)) for one in answers(self, frames)]

        monkeypatch.setattr(together.Together, "answers", changing)
        first = compiled.explain_batch(rows, total_time_limit=0.5, **given)
        assert first["certificate"].tolist() == [OWED]
        slow[0] = 0
        table = compiled.explain_batch(rows, **given)
        assert table["status"].tolist() == ["optimal"]
        assert table["certificate"].tolist() == ["row-0.json.gz" if better else TOO_LONG]
        assert (given["certificates"] / "row-0.json.gz").exists() == better

    def test_a_short_limit_is_not_spent_on_starting_processes(self, case, asked, monkeypatch):
        """However often it is run: each run gets on, and the last one ends."""
        (compiled, given), rows = asked, case[1].iloc[:3]
        monkeypatch.setattr("joblib.Parallel", None)
        for _ in range(20):
            table = compiled.explain_batch(rows, n_jobs=2, total_time_limit=2.0, **given)
            if not table["certificate"].isin([OWED, ""]).any():
                break
        assert all(cell.endswith(".gz") for cell in table["certificate"])

    def test_ctrl_c_ends_all_of_it(self, case, asked, slow):
        (compiled, given), rows = asked, case[1].iloc[:1]
        alarm = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
        started = time.monotonic()
        alarm.start()
        table = compiled.explain_batch(rows, **given)
        assert time.monotonic() - started < 5
        assert table["certificate"].tolist() == [OWED]
        assert table["status"].tolist() == ["optimal"]
        slow[0] = 0
        table = compiled.explain_batch(rows, **given)
        assert table["certificate"].tolist() == ["row-0.json.gz"]

    @pytest.mark.parametrize("seconds", [1e-3, 0.3])
    def test_two_processes(self, case, asked, monkeypatch, seconds):
        """That start late: what had no time of its own is owed, not given up."""
        monkeypatch.setattr(batch, "STARTING", 0.0)
        (compiled, given), rows = asked, case[1].iloc[:6]
        done = compiled.explain_batch(rows, n_jobs=1, **given)
        for certificate in given["certificates"].glob("row-*"):
            certificate.unlink()
        get_reusable_executor().shutdown(wait=True)  # those of other tests
        table = compiled.explain_batch(rows, n_jobs=2, total_time_limit=seconds, **given)
        assert table["certificate"].tolist() == [OWED] * 6
        table = compiled.explain_batch(rows, n_jobs=2, **given)
        assert table["certificate"].tolist() == done["certificate"].tolist()

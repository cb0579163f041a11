"""Damaged and truncated model files: each compiles, or is refused with a message.

Of every format a small model is written once; each trial changes up to four bytes of it, cuts it
off, or repeats or removes a stretch.  Counted: compiled, refused, *wrong* (an error that is none
of cfxc's, or a message longer than ten lines) and *slow* (more than ``--slow`` seconds of CPU).
Every trial runs in a child process, so that a crash is counted, too.  Pickles run code and are not
read.

    python benchmarks/fuzz.py --trials 10000 --formats onnx,skops
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier
from support.report import Table

import cfxc
from cfxc.errors import CfxcError

HEADER = ("format", "bytes", "trials", "compiled", "refused", "wrong", "slow", "crashed", "most, s")
Outcome = tuple[str, float, str]


def data() -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Three numbers, and which of two classes."""
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.normal(size=(200, 3)).round(3), columns=["a", "b", "c"])
    return X, (X["a"] + X["b"] * X["c"] > 0).astype(int)


def onnx(path: Path) -> None:
    from skl2onnx import to_onnx

    X, y = data()
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(X.to_numpy(), y)
    path.write_bytes(to_onnx(model, X.to_numpy(np.float32)[:1]).SerializeToString())


def skops(path: Path) -> None:
    import skops.io

    skops.io.dump(GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(*data()), path)


def xgboost(path: Path) -> None:
    from xgboost import XGBClassifier

    XGBClassifier(n_estimators=3, max_depth=2).fit(*data()).save_model(path)


def lightgbm(path: Path, **options: Any) -> None:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=3, num_leaves=4, verbose=-1, **options).fit(*data())
    model.booster_.save_model(path)


def catboost(path: Path) -> None:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(iterations=3, depth=2, verbose=False, allow_writing_files=False)
    model.fit(*data()).save_model(str(path), format=path.suffix[1:])


def exported(path: Path) -> None:
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    rows = ({0: torch.export.Dim("rows")},)
    torch.export.save(torch.export.export(net, (torch.zeros(2, 3),), dynamic_shapes=rows), path)


def space(path: Path) -> None:
    cfxc.FeatureSpace.infer(data()[0]).to_toml(path)


FORMATS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "onnx": (".onnx", onnx),
    "skops": (".skops", skops),
    "xgboost-json": (".json", xgboost),
    "xgboost-ubj": (".ubj", xgboost),
    "lightgbm": (".txt", lightgbm),
    "lightgbm-linear": (".txt", lambda path: lightgbm(path, linear_tree=True)),
    "catboost-json": (".json", catboost),
    "catboost-cbm": (".cbm", catboost),
    "torch-export": (".pt2", exported),
    "space": (".toml", space),
}


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """The file with up to four other bytes, cut off, or with a stretch twice or not at all."""
    kind, end = rng.integers(4), len(whole)
    first, last = sorted(rng.integers(end, size=2).tolist())
    last = min(last, first + 64)
    if kind == 0:
        return whole[:first]
    if kind == 1:
        return whole[:first] + whole[last:]
    if kind == 2:
        return whole[:last] + whole[first:last] + whole[last:]
    changed = bytearray(whole)
    for at in rng.integers(end, size=rng.integers(1, 5)):
        changed[at] = rng.integers(256)
    return bytes(changed)


def tried(name: str, path: Path, known: cfxc.FeatureSpace) -> Outcome:
    """What one file leads to, after how many seconds, and the error if it is a wrong one."""
    started, outcome, said = time.process_time(), "compiled", ""
    try:
        if name == "space":
            cfxc.FeatureSpace.from_toml(path)
        else:
            cfxc.compile(path, known, task="classifier", trust_pickle=path.suffix == ".pt2")
    except CfxcError as error:
        outcome = "refused"
        if len(str(error).splitlines()) > 10:
            outcome, said = "wrong", "a message of more than ten lines"
    except Exception as error:
        outcome, said = "wrong", f"{type(error).__name__}: {str(error)[:200]}"
    return outcome, time.process_time() - started, said


def work(
    name: str, whole: bytes, suffix: str, seed: int, first: int, trials: int, pipe: Any
) -> None:
    """Trials ``first`` and on, each reported before it is tried and after."""
    warnings.simplefilter("ignore")
    known = cfxc.FeatureSpace.infer(data()[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        path.write_bytes(whole)
        if (said := tried(name, path, known))[0] != "compiled":  # and the libraries are loaded
            raise AssertionError(f"{name}: the whole file: {said}")
        for number in range(first, trials):
            path.write_bytes(damaged(whole, np.random.default_rng((seed, number))))
            pipe.send(number)
            pipe.send(tried(name, path, known))
    pipe.send(None)


def outcomes(name: str, whole: bytes, suffix: str, seed: int, trials: int) -> Iterator[Outcome]:
    """What every trial led to; after a crash, a new process goes on with the next."""
    at = 0
    while at < trials:
        before = at
        here, there = multiprocessing.Pipe()
        args = (name, whole, suffix, seed, at, trials, there)
        child = multiprocessing.get_context("spawn").Process(target=work, args=args)
        child.start()
        there.close()
        try:
            while (said := here.recv()) is not None:
                if isinstance(said, int):
                    at = said + 1
                else:
                    yield said
            at = trials
        except EOFError:
            child.join()
            if at == before:
                raise AssertionError(f"{name}: the undamaged file is not compiled") from None
            yield "crashed", 0.0, f"trial {at - 1} with seed {seed}: exit code {child.exitcode}"
        child.join()


def row(name: str, trials: int, seed: int, slow: float) -> tuple[str, ...]:
    """One format's line."""
    suffix, write = FORMATS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        write(path)
        whole = path.read_bytes()
    count, most, late, shown = Counter[str](), 0.0, 0, set[str]()
    for outcome, seconds, said in outcomes(name, whole, suffix, seed, trials):
        count[outcome] += 1
        most, late = max(most, seconds), late + (seconds > slow)
        if said and said not in shown:
            shown.add(said)
            print(f"{name}: {outcome}: {said}", flush=True)
    kinds = (str(count[kind]) for kind in ("compiled", "refused", "wrong"))
    return (
        name,
        f"{len(whole):,}",
        f"{trials:,}",
        *kinds,
        str(late),
        str(count["crashed"]),
        f"{most:.2f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--formats", default=",".join(FORMATS), help="of these, by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slow", type=float, default=5.0)
    options = parser.parse_args()
    table = Table("damaged files", HEADER)
    for name in options.formats.split(","):
        try:
            table.rows.append(row(name, options.trials, options.seed, options.slow))
        except ModuleNotFoundError as error:
            print(f"{name}: {error.name} is not installed")
    print(table.markdown())


if __name__ == "__main__":
    main()

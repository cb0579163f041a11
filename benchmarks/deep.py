"""Models as people train them by default: forests of unrestricted depth, long boosting, networks.

Refused people of each data set, l1, relative 0.1 % (``--epsilon``), one thread: how many have a
proved nearest counterfactual within the limit, and the seconds.  ``CFXC_DATA`` names the folder of
the data.  ``--peers N``: treecf and OCEAN on the first N of them, on forests (``CFXC_PEER_PYTHON``
names their Python).  ``--acas`` instead: linf, ACAS Xu's networks in a folder, or one of their
size; the questions and Marabou beside them are described in ``support/acas.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from statistics import median

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.neural_network import MLPClassifier
from support import acas
from support.peers import Peers, find_peers
from support.race import HEADER as RACE
from support.race import Answer, compare, ours, own_faults, peer_run, run_of
from support.report import Table
from support.tasks import Data, Make, Task, adult, fit, forest, heloc, xgboost

import cfxc
from cfxc.datasets.source import local_file

HEADER = (
    "model",
    "leaves or units",
    "people",
    "proved",
    "answered",
    "median, s",
    "95 %",
    "max, s",
    "nodes",
)


def breast_cancer() -> Data:
    """569 tumours, 30 continuous features; favourable: benign."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return Data("breast cancer", X, y, cfxc.FeatureSpace.infer(X, resolution=None), test=0.3)


def give_me_some_credit() -> Data | None:
    """n = 120,269 complete rows of ten numbers; favourable: no delinquency."""
    path = local_file("give_me_some_credit/cs-training.csv.gz")
    if path is None:
        return None
    frame = pd.read_csv(path, index_col=0).dropna().reset_index(drop=True)
    y = 1 - frame.pop("SeriousDlqin2yrs")
    return Data("Give Me Some Credit", frame, y, cfxc.FeatureSpace.infer(frame))


def lightgbm(trees: int, leaves: int) -> Make:
    from lightgbm import LGBMClassifier

    return lambda: LGBMClassifier(
        n_estimators=trees, num_leaves=leaves, random_state=0, n_jobs=1, verbose=-1
    )


def network(activation: str, *layers: int) -> Make:
    return lambda: MLPClassifier(layers, activation=activation, max_iter=60, random_state=0)


SETS = {
    "adult": adult, "credit": give_me_some_credit, "heloc": heloc, "cancer": breast_cancer,
}  # fmt: skip
MODELS: dict[str, tuple[str, Make]] = {
    "forest": ("RF 100×none", forest(100, None)),
    "large": ("RF 500×none", forest(500, None)),
    "xgb": ("XGB 1000×8", xgboost(1000, 8)),
    "lgbm": ("LGBM 1000×31", lightgbm(1000, 31)),
    "sigmoid": ("sigmoid 16×16", network("logistic", 16, 16)),
    "tanh": ("tanh 16×16", network("tanh", 16, 16)),
    "relu": ("ReLU 64×64×64", network("relu", 64, 64, 64)),
}


def tasks(sets: list[str], models: list[str]) -> Iterator[Task]:
    """The fitted models, one after the other."""
    for name in sets:
        data = SETS[name]()
        if data is None:
            print(f"{name}: not there", file=sys.stderr)
            continue
        for model in models:
            title, make = MODELS[model]
            yield fit(data, title, make, scaled=model in ("sigmoid", "tanh", "relu"))


def leaves(task: Task) -> int:
    """How many leaves all trees of a model have; how many units a network."""
    last = task.pipeline[-1]
    if isinstance(last, MLPClassifier):
        return sum(last.hidden_layer_sizes)
    if hasattr(last, "estimators_"):
        return sum(int(tree.tree_.n_leaves) for tree in last.estimators_)
    frame = getattr(last, "booster_", None)
    if frame is not None:
        return sum(tree["num_leaves"] for tree in frame.dump_model()["tree_info"])
    return int((last.get_booster().trees_to_dataframe().Feature == "Leaf").sum())


def row(task: Task, answers: list[Answer]) -> tuple[str, ...]:
    """The figures of one model; who is not proved counts with the seconds spent."""
    wall = sorted(answer.seconds for answer in answers)
    print(task.name, [round(s, 2) for s in wall], file=sys.stderr, flush=True)
    return (
        task.name, f"{leaves(task):,}", str(len(answers)),
        str(sum(answer.proved for answer in answers)),
        str(sum(answer.result.counterfactual is not None for answer in answers)),
        f"{median(wall):.3f}", f"{wall[min(len(wall) * 19 // 20, len(wall) - 1)]:.3f}",
        f"{wall[-1]:.3f}", f"{median(answer.result.nodes for answer in answers):,.0f}",
    )  # fmt: skip


def beside(task: Task, answers: list[Answer], peers: Peers, seconds: float) -> list[str]:
    """The same people by treecf and OCEAN: prints a table and notes; what cannot be true."""
    mine, found = run_of("cfxc", answers), own_faults(task, answers)
    table = Table(f"{task.name}, limit {seconds:g} s; {peers.versions}", RACE)
    table.rows.append(mine.row(mine))
    for engine in ("treecf", "ocean"):
        replies = peer_run(peers, engine, task, len(answers), seconds)
        table.rows.append(run_of(engine, replies).row(mine))
        if engine == "treecf":  # whose distance is ours
            found.add(compare(task, answers, replies))
    print(table.markdown(), *(f"- {note}" for note in found.notes + found.faults), sep="\n")
    return found.faults


def some_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """Reads names with commas between them, each of which is known."""

    def names(text: str) -> list[str]:
        odd = [name for name in text.split(",") if name not in known]
        if odd:
            raise argparse.ArgumentTypeError(f"{odd[0]!r} is none of {', '.join(known)}")
        return text.split(",")

    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=some_of(SETS), default=",".join(SETS), help="by commas")
    parser.add_argument("--models", type=some_of(MODELS), default="forest,xgb,lgbm")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for each")
    parser.add_argument("--epsilon", type=float, default=1e-3)
    parser.add_argument(
        "--acas", nargs="?", const="", metavar="FOLDER",
        help="networks of 6 x 50 units: its *.onnx, --people points each; or one, fitted here",
    )  # fmt: skip
    parser.add_argument("--certify", action="store_true", help="of these, certificates too")
    parser.add_argument(
        "--peers", type=int, default=0, metavar="N",
        help="of forests, ask treecf and OCEAN about the first N people too",
    )  # fmt: skip
    options = parser.parse_args()
    if options.acas is not None:
        source = Path(options.acas) if options.acas else None
        found = acas.table(
            source, options.people, options.epsilon, options.seconds, certify=options.certify
        )
        print(found.markdown())
        return
    table = Table(f"ε = {options.epsilon:g}, limit {options.seconds:g} s", HEADER)
    peers, faults = find_peers() if options.peers else None, list[str]()
    for task in tasks(options.data, options.models):
        answers = ours(task, options.people, options.epsilon, options.seconds)
        table.rows.append(row(task, answers))
        if peers is not None and task.model.startswith("RF"):
            faults += beside(task, answers[: options.peers], peers, options.seconds)
    print(table.markdown())
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()

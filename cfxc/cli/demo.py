"""``cfxc demo``: the main job on real data that ships with scikit-learn."""

from __future__ import annotations

import sys
import time

from ..show.numbers import cell_text
from .commands import exit_code
from .report import progress, show

FIXED = ("age", "sex")
PATIENT = 13
"""Row of the table from which on the first patient predicted above the median is taken."""


def demo() -> int:
    """Explain one patient's prognosis; the exit code is that of ``cfxc explain``."""
    import numpy as np
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import RandomForestClassifier

    from ..model import compile
    from ..space import FeatureSpace

    started = time.monotonic()
    data = load_diabetes(scaled=False, as_frame=True)
    above = data.target > data.target.median()
    forest = RandomForestClassifier(random_state=0)
    forest.fit(data.data, np.where(above, "above", "below"))
    space = FeatureSpace.infer(data.data, fixed=FIXED)
    model = compile(forest, space)
    patients = data.data.iloc[PATIENT:]
    row = patients[model.predict(patients) == "above"].iloc[[0]]

    print(f"{len(data.data)} diabetes patients; a forest of {len(forest.estimators_)} trees")
    print("predicts whether the disease progresses above or below the median in a year.")
    values = ", ".join(f"{name} {cell_text(row[name].iloc[0])}" for name in row.columns)
    print(f"patient {row.index[0]}: {values}")
    print("The fewest changes, and the smallest of these, with which it predicts below;")
    print("age and sex are fixed:\n")
    sys.stdout.flush()
    with progress("searching …"):
        result = model.explain(row, target="below", distance="sparse")
    total = f"{time.monotonic() - started:.1f} s with training and compiling"
    show(result, [("in total", total)])
    return exit_code(result)

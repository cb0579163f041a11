"""The models and questions of ``versions.py``, answered by the checkout that is named first.

Reads lines of JSON, ``["fit", model, ε]`` or ``["ask", person, ε, seconds]``, and answers each
by one: how many people are refused; or processor seconds, the status and the exact distance.
"""

import json
import os
import sys

root = sys.argv[1]
sys.path[0] = f"{root}/benchmarks"  # the tasks are the checkout's own, as is the package

from support.race import explain  # noqa: E402 - only there from here on
from support.tasks import adult, boosting, fit, forest, heloc, made, xgboost  # noqa: E402

DATA = {"adult": adult, "20": lambda: made(20), "30": lambda: made(30), "heloc": heloc}
TREES = {"rf": forest, "gb": boosting, "xgb": xgboost}


def fitted(name: str):
    """The model that a name such as ``adult-rf-100-8`` or ``adult-rf-100-8-alone`` stands for."""
    data, kind, trees, depth, *alone = name.split("-")
    task = fit(DATA[data](), name, TREES[kind](int(trees), int(depth)))
    return task.bare() if alone else task


def main() -> None:
    """Answer until the input ends; what libraries print goes to the standard error."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        order, what, epsilon, *seconds = json.loads(line)
        if order == "fit":
            task = fitted(what)
            explain(task, task.people.iloc[[0]], epsilon, 5.0)  # the first one warms up
            reply = [len(task.people)]
        else:
            answer = explain(task, task.people.iloc[[what]], epsilon, *seconds)
            found = answer.result
            reply = [answer.cpu, found.status, str(found.exact_distance)]
        print(json.dumps(reply), file=replies, flush=True)


main()

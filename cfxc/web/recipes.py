"""The same question on the command line and in Python, to be copied."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..answers.cells import plain_row
from ..lang.literals import write_name
from .asking import Asked
from .site import Files, Site

SIGNS = {"fixed": "==", "increase": ">=", "decrease": "<="}
ROW = "row.json"
"""The file that the page offers the instance as, but for the number of its row."""


def recipes(site: Site, asked: Asked) -> dict[str, Any]:
    """The instance, and the two texts; in place of the first, why there is none."""
    row = plain_row(asked.frame)
    known = site.model.space.encode_row(asked.frame)
    gaps = [name for name in asked.moves if site.model.space[name].is_absent(known[name])]
    command = shlex.join(_words(site.files, asked, gaps))
    if gaps:  # a condition asks that the number is there
        command = (
            f"# {', '.join(gaps)}: a number that is missing is kept by the feature space alone;"
            f"\n# set its action there, or use the lines in Python.\n{command}"
        )
    return {"row": row, "file": ROW, "command": command, "python": _python(site, asked, row)}


def _words(files: Files, asked: Asked, gaps: Sequence[str]) -> Iterator[str]:
    yield from ("cfxc", "explain", files.model, "--space", files.space, "--factual", ROW)
    named = {
        "--question": files.question, "--favourable": files.favourable, "--task": files.task,
        "--output": files.output, "--cut": files.cut,
    }  # fmt: skip
    for flag, value in named.items():
        if value is not None:
            yield from (flag, str(value))
    yield from ["--trust-pickle"] * files.trust_pickle
    options = dict(asked.options)
    target = options.pop("target", None)
    if isinstance(target, tuple):
        yield from ("--range", ":".join(end or "" for end in target))
    elif target is not None:
        yield from ("--target", str(target))
    for name in ("distance", "count", "diversity", "time_limit"):
        if name in options:
            yield from (f"--{name.replace('_', '-')}", _number(options[name]))
    for name, move in asked.moves.items():
        if name not in gaps:
            written = write_name(name)
            yield from ("--constraint", f"{written} {SIGNS[move]} factual.{written}")
    for each in options.get("subject_to", ()):
        flag, text = (
            ("--constraint", each) if isinstance(each, str) else (each.flag, each.to_toml())
        )
        yield from (flag, str(text))


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _python(site: Site, asked: Asked, row: Mapping[str, Any]) -> str:
    files = site.files
    lines = ["import cfxc", "", f"space = cfxc.FeatureSpace.from_toml({files.space!r})"]
    if files.data is not None and files.data.endswith(".csv"):
        lines += ["# rows of the table may be where a search begins", "import pandas as pd", ""]
        lines += [f"space = space.with_examples(pd.read_csv({files.data!r}))"]
    lines += [f"space = space.replace({n!r}, action={m!r})" for n, m in asked.moves.items()]
    reading = {
        "trust_pickle": files.trust_pickle or None, "task": files.task, "output": files.output,
        "cut": files.cut, "favourable": site.model.favourable,
    }  # fmt: skip
    given = "".join(f", {name}={value!r}" for name, value in reading.items() if value is not None)
    lines += [f"model = cfxc.compile({files.model!r}, space{given})", f"row = {dict(row)!r}"]
    asked_for = dict(asked.options)
    criteria = [
        repr(each) if isinstance(each, str) else f"cfxc.{each!r}"
        for each in asked_for.pop("subject_to", [])
    ]
    question = ""
    if files.question is not None:
        lines += [f"question = cfxc.Question.from_toml({files.question!r})"]
        question = ", question"
        criteria = ["*question.subject_to", *criteria] if criteria else []
    options = [f"{name}={value!r}" for name, value in asked_for.items()]
    options += [f"subject_to=[{', '.join(criteria)}]"] * bool(criteria)
    lines += ["result = model.explain(", f"    row{question},"]
    lines += [f"    {option}," for option in options]
    return "\n".join([*lines, ")", "print(result.summary())", ""])

"""The page about a population's answers: one file of HTML, with its pictures in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..version import __version__
from .letters.page import environment
from .letters.words import clean
from .svg import bars, histogram, ranges

TEMPLATE = Path(__file__).parent / "overview.html"
BINS = 24
DISTANCE = "distance"
MEANS = {
    "optimal": "a counterfactual, and proved that none is nearer, to within epsilon",
    "feasible": "a counterfactual; a nearer one may exist",
    "infeasible": "proved that no counterfactual exists",
    "unknown": "nothing was found in time, and nothing ruled out",
    "unchanged": "has the target outcome already",
    "error": "could not be asked about; the table says why",
    "not asked yet": "the batch was interrupted before",
}
PROOFS = {
    "certificate": "in a certificate that was checked for this report, and is the answer's",
    "a certificate elsewhere": "in a certificate, as the answers say; it was not checked here",
    "a missing or failed certificate": "in none: theirs is missing, does not hold, or is another's",
    "search": "by an exact search; no certificate of it was checked here",
    "solver": "on the word of a solver",
    "none": "nothing was proved above 0",
}


def page(content: Mapping[str, Any]) -> str:
    """The page about what :mod:`cfxc.answers.overview` counted.

    Raises:
        MissingExtraError: Jinja2 is not installed.
    """
    templates = environment()
    from markupsafe import Markup

    counts, distances, checked = content["counts"], content["distances"], content["certificates"]
    total = sum(count for _, count in counts) or 1
    shown = [(name, count) for name, count in counts if count]
    changes = [(clean(name), count) for name, count in content["changes"]]
    moved = sum(count for name, count in counts if name in ("optimal", "feasible")) or 1
    pictures = {
        "counts": bars(shown, [f"{count} ({count / total:.1%})" for _, count in shown]),
        "changes": bars(changes, [f"{count} ({count / moved:.1%})" for _, count in changes]),
        "distances": "",
    }
    quantiles = []
    if distances:
        heights, edges = np.histogram(distances, bins=BINS, range=(0, max(distances) or 1))
        pictures["distances"] = histogram(heights.tolist(), edges.tolist(), DISTANCE)
        shares = (0, 0.25, 0.5, 0.75, 1)
        quantiles = [f"{value:.6g}" for value in np.quantile(distances, shares)]
    filled = {
        **content,
        "title": clean(content["title"]), "source": clean(content["source"]),
        "policy": clean(content["policy"]),
        "measures": clean(", ".join(content["measures"])),
        "targets": clean("; ".join(content["targets"])),
        "total": total, "moved": moved,
        "groups": [_group(each) for each in content["groups"]],
        "counts": [(name, count, MEANS[name]) for name, count in shown],
        "quantiles": quantiles,
        "proofs": [(name, count, PROOFS.get(name, "")) for name, count in content["proofs"]],
        "asked": [(name, clean(text)) for name, text in content["asked"]],
        "answers": [[clean(cell) for cell in row] for row in content["answers"]],
        "certificates": [
            {name: clean(str(cell)) for name, cell in asdict(one).items()} for one in checked
        ],
        "held": sum(one.holds for one in checked),
        "pictures": {name: Markup(text) for name, text in pictures.items()},
        "version": __version__,
    }  # fmt: skip
    made: str = templates.from_string(TEMPLATE.read_text("utf-8")).render(filled)
    return made


def _group(group: Mapping[str, Any]) -> dict[str, Any]:
    """A comparison by one column, with its picture and the statuses that occur."""
    from markupsafe import Markup

    parts = [{**each, "label": clean(each["label"])} for each in group["groups"]]
    occur = [n for n, _ in enumerate(group["statuses"]) if any(each["counts"][n] for each in parts)]
    return {
        "name": clean(group["name"]),
        "picture": Markup(ranges([(each["label"], each["quarters"]) for each in parts], DISTANCE)),
        "statuses": [group["statuses"][n] for n in occur],
        "groups": [{**each, "counts": [each["counts"][n] for n in occur]} for each in parts],
    }

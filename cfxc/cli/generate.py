"""``cfxc generate``: train a generator once, then many diverse counterfactuals for any instance."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidInputError, brief
from ..frontends.csv_files import number
from ..frontends.row_files import named_row, read_factual, read_rows
from ..question.outcomes import read_target
from ..writing import check_writable
from .commands import Source
from .flags import (
    COUNTED,
    Asked,
    Favourable,
    Json,
    ModelFile,
    Output,
    Overwrite,
    Reading,
    SpaceFile,
    grouped,
    takes,
)
from .guard import INFEASIBLE, LIMIT, deliver, guarded, keep_present
from .report import doing, telling, to_json

if TYPE_CHECKING:
    import pandas as pd

    from ..methods.amortised import Epoch, Generator


@dataclass(frozen=True)
class Training:
    """The options of ``cfxc generate fit``."""

    data: Annotated[
        Path, typer.Option(metavar="DATA.CSV", help="Rows to learn from; best the model's own.")
    ]
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write the generator to.")]
    target: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The only target label.  [default: any]")
    ] = None
    favourable: Favourable = None
    epochs: Annotated[int, typer.Option(metavar="N", help="Passes over the rows, at most.")] = 200
    buckets: Annotated[int, typer.Option(metavar="N", help="Most levels of a number.")] = 4
    bucket_rows: Annotated[int, typer.Option(metavar="N", help="Fewest rows in each.")] = 100
    alpha: Annotated[float, typer.Option(help="The price of a feature that may change.")] = 1e-3
    gradient: Annotated[
        str, typer.Option(help="auto, pathwise, reinforce or straight-through.")
    ] = "auto"
    no_selector: Annotated[
        bool, typer.Option("--no-selector", help="Do without the network that picks features.")
    ] = False
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the state; go on from one.")
    ] = None
    seed: Annotated[int, typer.Option(metavar="N", help="Of what is drawn at random.")] = 0
    overwrite: Overwrite = False


@dataclass(frozen=True)
class Request:
    """The options of ``cfxc generate run``."""

    generator: Annotated[Path, typer.Option(metavar="FOLDER", help="What fit wrote.")]
    rows: Annotated[
        str, typer.Option(metavar="ROWS", help=f"data.csv; or row.json, data.csv:17; {COUNTED}.")
    ]
    n: Annotated[int, typer.Option("-n", "--count", metavar="N", help="For each, at most.")] = 100
    target: Annotated[str | None, typer.Option(metavar="LABEL", help="Wanted label.")] = None
    favourable: Favourable = None
    sparsity: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Of the numbers, that may change.")
    ] = None
    diversity: Annotated[str, typer.Option(help="maxmin, dpp, harmonic or none.")] = "maxmin"
    bands: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=EDGES", help="Of a number: rows differ across age=25,40; again."
        ),
    ] = None
    polish: Annotated[
        bool, typer.Option("--polish", help="Move each as near as its changes allow, exactly.")
    ] = False
    time_limit: Annotated[float, typer.Option(help="Seconds, half of them at most to draw.")] = 60.0
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Of what is drawn.  [default: training's]")
    ] = None
    out: Output = None
    overwrite: Overwrite = False


@guarded
@grouped
def fit(
    *, model: ModelFile, space: SpaceFile, training: Training, reading: Reading, json: Json = False
) -> int:
    """Train a generator of counterfactuals for a classifier."""
    _check_folder(training.out)
    with doing("loading torch …"):  # which takes seconds
        from ..methods.amortised import Generator
        from ..methods.amortised.storage import HEAD
    keep_present(training.overwrite, training.out / HEAD)
    with doing("compiling …"):
        compiled = Source(model, space, reading).load(favourable=training.favourable)
    target = None if training.target is None else read_target(compiled, training.target, None)
    made = Generator(
        compiled, epochs=training.epochs, buckets=training.buckets,
        bucket_rows=training.bucket_rows, alpha=training.alpha, gradient=training.gradient,
        selector=not training.no_selector, random_state=training.seed,
    )  # fmt: skip
    table, started = read_rows(training.data, compiled.space), time.monotonic()
    with telling("training …") as tell:

        def watch(now: Epoch) -> None:
            stands = f"epoch {now.number} of {now.of}, loss {now.loss:.4g}, best {now.best:.4g}"
            tell(now.seconds, stands)

        made.fit(table, target, checkpoint=training.checkpoint, progress=watch)
    made.save(training.out)
    facts = {
        "generator": str(training.out), "rows": len(table), "targets": list(made.targets),
        "gradient": made.gradient, "epochs": len(made.losses),
        "loss": float(f"{min(made.losses):.4g}"),
        "seconds": round(time.monotonic() - started, 1),
    }  # fmt: skip
    if json:
        print(to_json(facts))
    else:
        for name, value in facts.items():
            print(f"{name:<11}{value}")
    return 0


@guarded
@takes("max_changes", "constraints")
def run(
    *,
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    request: Request,
    reading: Reading,
    json: Json = False,
) -> int:
    """Draw counterfactuals for instances: valid, different, re-run through the model.

    CSV, with the instance's number and the counterfactual's first.  Exit code 4 if some
    instance got none; 3 if for all of these it is proved that there is none.
    """
    source = Source(model, space, reading)
    check_writable(request.out, *source.files, request.generator)
    keep_present(request.overwrite, request.out)
    bands = _bands(request.bands or [])
    with doing("loading torch …"):
        from ..methods.amortised import Generator
    with doing("compiling …"):
        compiled = source.load(favourable=request.favourable)
    made = Generator.load(request.generator, compiled)
    target = None if request.target is None else read_target(compiled, request.target, None)
    diversity = None if request.diversity == "none" else request.diversity
    instances, started = _instances(request.rows, made), time.monotonic()
    with telling(f"drawing, for at most {request.time_limit:g} s …") as tell:

        def watch(done: int, of: int) -> None:
            tell(time.monotonic() - started, f"{done} of {of} instances")

        found = made.generate(
            instances, n=request.n, target=target, sparsity=request.sparsity,
            subject_to=requested.subject_to, diversity=diversity,
            bands=bands, polish=request.polish, time_limit=request.time_limit,
            random_state=request.seed, progress=watch,
        )  # fmt: skip
    report = made.last_report
    assert report is not None
    content = to_json(_answer(found, report)) + "\n" if json else found.to_csv()
    deliver(content, request.out)
    counts = report["status"].value_counts()
    reported = ", ".join(f"{count} {status}" for status, count in counts.items())
    sizes = f"{len(found)} row{'s' * (len(found) != 1)} for {len(report)} instance"
    late = time.monotonic() - started >= request.time_limit / 2  # from when on none is drawn
    cut = late and report["status"].isin(("none", "fewer")).any()
    more = "; the time ended before all were drawn for: give a longer --time-limit" if cut else ""
    print(f"{sizes}{'s' * (len(report) != 1)}: {reported}{more}", file=sys.stderr)
    if (report["status"] == "none").any():
        return LIMIT
    return INFEASIBLE if (report["status"] == "impossible").any() else 0


def _instances(text: str, made: Generator) -> Any:
    """The rows of a CSV file, or one instance as ``--factual`` takes them."""
    path, number = named_row(text)
    if number is None and path.suffix.lower() == ".csv":
        return read_rows(path, made.space)
    row, space = read_factual(text, made.space), made.space
    return row if number is None else space.decode(space.encode_row(row)).set_axis([number])


def _bands(given: list[str]) -> dict[str, list[float]]:
    """Inner edges of numbers, by name."""
    found = {}
    for text in given:
        name, _, edges = text.rpartition("=")
        numbers = [number(edge) for edge in edges.split(",")]
        if not name or name in found or None in numbers:
            raise InvalidInputError(
                f"--bands: {brief(text)} is not a number's name and its inner edges, such as "
                "age=25,40, each name once"
            )
        found[name] = [float(each) for each in numbers if each is not None]
    return found


def _answer(found: pd.DataFrame, report: pd.DataFrame) -> dict[str, Any]:
    """All rows and counts, for machines."""
    instances = []
    records = loads(found.to_json(orient="records", double_precision=15))
    ends = report["returned"].cumsum()
    for (label, facts), end in zip(report.iterrows(), ends, strict=True):
        counts = {name: v.item() if hasattr(v, "item") else v for name, v in facts.items()}
        rows = records[int(end) - int(counts["returned"]) : int(end)]
        instances.append({"row": label, **counts, "counterfactuals": rows})
    return {"instances": instances}


def _check_folder(path: Path) -> None:
    """Refuse a folder that cannot be made, before any work."""
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"{path}: cannot write: it is no folder")
    home = path if path.is_dir() else path.parent
    if not home.is_dir():
        raise InvalidInputError(f"{path}: cannot write: no folder {home}")
    if not os.access(home, os.W_OK):
        raise InvalidInputError(f"{path}: cannot write: no permission in {home}")

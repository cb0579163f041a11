"""``cfxc explain``: its options, and the question that they and a file state together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import commands, letters
from .commands import Source
from .flags import (
    ALL,
    Asked,
    Cut,
    Decides,
    Factual,
    Favourable,
    Json,
    ModelFile,
    Overwrite,
    QuestionFile,
    Range,
    SpaceFile,
    Task,
    Trust,
    takes,
)  # fmt: skip
from .guard import guarded


@guarded
@takes(*ALL, options=True)
def explain(
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    factual: Factual,
    question: QuestionFile = None,
    favourable: Favourable = None,
    range_: Range = None,
    task: Task = None,
    decides: Decides = None,
    cut: Cut = None,
    trust_pickle: Trust = False,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the certificate; .gz compresses it."),
    ] = None,
    letter: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a letter to the person: .html, .pdf.  Several answers then change "
            "different features, unless --diversity or --apart is given.",
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of the letter: plain, adverse-action, european, or a Jinja2 file.  "
            "[default: plain]",
        ),
    ] = None,
    locale: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Of the letter: en, de, fr, de-AT …  [default: en]"),
    ] = None,
    fields: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Sender, recipient … of the letter (TOML).")
    ] = None,
    qr: Annotated[
        bool, typer.Option("--qr", help="With the certificate's hash as a QR code.")
    ] = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> int:
    """The nearest counterfactual of one instance, and its proof."""
    source = Source(model, space, trust_pickle, task, decides, cut)
    instance = commands.Instance(factual, favourable, range_, question)
    wanted = letters.Wanted(letter, template, locale, fields, qr, overwrite)
    return commands.explain(source, instance, requested, json, certificate, wanted)

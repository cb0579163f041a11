"""The commands and their options."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..version import __version__
from . import certificates, commands, letters, overview
from . import generate as generators
from . import plan as plans
from . import regress as potentials
from .emission import Emit, Transformer
from .flags import (
    NAMES,
    Asked,
    Columns,
    Factual,
    Favourable,
    Group,
    Json,
    ModelFile,
    Output,
    SpaceFile,
    Trust,
    takes,
)  # fmt: skip
from .guard import FAULT, ended, guarded

app = typer.Typer(
    name="cfxc",
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
space_app = typer.Typer(help="Feature spaces.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(space_app, name="space")
generate_app = typer.Typer(
    cls=Group,
    help="Many diverse counterfactuals: train once, then draw.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(generate_app, name="generate")

Task = Annotated[
    commands.Task | None,
    typer.Option(help="What a network is whose output is numbers alone, such as two logits."),
]
Decides = Annotated[
    str | None,
    typer.Option(
        "--output", metavar="NAME", help="Of a network: the output that decides, or its position."
    ),
]
Cut = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER", help="Of a network: what that must exceed for the second class."
    ),
]


def _version(requested: bool) -> None:
    if requested:
        print(f"cfxc {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """From a trained model to logic to the nearest counterfactual, proved.

    Exit codes: 0 done, 1 a fault of cfxc, 2 bad input, 3 no counterfactual exists (proved), 4 a
    limit was reached (the best answer is printed), 5 a certificate does not hold.
    """


@app.command()
@guarded
def demo() -> int:
    """The main job on real data that ships with scikit-learn."""
    from .commands import demo as run

    return run()


@app.command("models")
@guarded
def supported(json: Json = False) -> int:
    """Which models are supported, and why others are not."""
    from .models import models as run

    return run(json)


@space_app.command("infer")
@guarded
def space_infer(
    table: Annotated[Path, typer.Argument(metavar="DATA.CSV", help="One row per instance.")],
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="The outcome's column, left out.")
    ] = None,
    drop: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Other columns to leave out: a,b.")
    ] = None,
    out: Output = None,
    fixed: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Columns that may not change: a,b.")
    ] = None,
    increase: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Columns that may only rise.")
    ] = None,
    decrease: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Columns that may only fall.")
    ] = None,
    one_hot: Annotated[
        Columns, typer.Option(metavar="PREFIXES", help="Prefixes of one-hot groups: sector_.")
    ] = None,
    thermometer: Annotated[
        Columns, typer.Option(metavar="PREFIXES", help="Prefixes of groups of rising steps: edu_.")
    ] = None,
    ordinal: Annotated[
        Columns,
        typer.Option(metavar="LEVELS", help="In rising order: size=small,large; may be repeated."),
    ] = None,
    resolution: Annotated[
        Columns,
        typer.Option(metavar="STEP", help="Of a number: pay=0.01; may be repeated."),
    ] = None,
) -> int:
    """Infer the feature space of a table: kinds, ranges, resolutions.

    The table is CSV: commas, a header, UTF-8. An empty cell is a missing value; so are NA, NaN,
    null and None in a column of numbers, while in a column of text they are texts. Codes with
    leading zeros (007) are text.
    """
    statement = commands.Statement(
        target, drop, fixed, increase, decrease, one_hot, thermometer, ordinal, resolution
    )
    return commands.infer_space(table, statement, out)


@app.command("compile")
@guarded
def compile_(
    model: ModelFile,
    space: SpaceFile,
    emit: Annotated[Emit, typer.Option(help="What to print.")] = Emit.ir,
    formula: Annotated[
        Transformer | None,
        typer.Option(help="Predicate transformer of formula and smt2.  [default: compact]"),
    ] = None,
    printed: Annotated[
        list[str] | None,
        typer.Option(
            "--print", metavar="NAME", help="Output of the IR, or all.  [default: label or value]"
        ),
    ] = None,
    task: Task = None,
    decides: Decides = None,
    cut: Cut = None,
    trust_pickle: Trust = False,
    after: Annotated[
        str | None,
        typer.Option(metavar="PASS", help="Show the IR after narrow_argmax or fold_into_trees."),
    ] = None,
    out: Output = None,
) -> int:
    """Print a model as IR, core-language program, formula or SMT-LIB."""
    source = commands.Source(model, space, trust_pickle, task, decides, cut)
    return commands.compile_model(source, emit, formula, printed or [], after, out)


ALL = "constraints", "max_changes", "causal", "trust_region", "probability", "margin", "accepts"
"""The kinds of criteria."""


@app.command()
@guarded
@takes(*ALL, options=True)
def explain(
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    factual: Factual,
    question: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What is asked (TOML); flags go before what it says."),
    ] = None,
    favourable: Favourable = None,
    range_: Annotated[
        str | None, typer.Option("--range", metavar="LO:HI", help="Wanted range.")
    ] = None,
    task: Task = None,
    decides: Decides = None,
    cut: Cut = None,
    trust_pickle: Trust = False,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the certificate; .gz compresses it."),
    ] = None,
    letter: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a letter to the person: .html, .pdf.")
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
    json: Json = False,
) -> int:
    """The nearest counterfactual of one instance, and its proof."""
    source = commands.Source(model, space, trust_pickle, task, decides, cut)
    instance = commands.Instance(factual, favourable, range_, question)
    wanted = letters.Wanted(letter, template, locale, fields, qr)
    return commands.explain(source, instance, requested, json, certificate, wanted)


@app.command()
@guarded
@takes("constraints", "causal", "max_changes")
def regress(
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    factual: Factual,
    width: Annotated[
        float | None, typer.Option(metavar="W", help="About how far away the output should be.")
    ] = None,
    sign: Annotated[
        str | None, typer.Option(help="Of --width: + (higher), - (lower) or both.  [default: both]")
    ] = None,
    to: Annotated[
        float | None, typer.Option(metavar="VALUE", help="The target output, instead of --width.")
    ] = None,
    budget: Annotated[
        int, typer.Option(metavar="N", help="Rows that the model may be asked about.")
    ] = 100,
    epsilon: Annotated[
        float, typer.Option(help="By what share of an exact hit an answer may be worse.")
    ] = 0.01,
    kernel: Annotated[str, typer.Option(help="Of the surrogate: matern or rbf.")] = "matern",
    seed: Annotated[int, typer.Option(metavar="N", help="Of what is drawn at random.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Evaluations (JSON) from before, read if the file is there; the new ones are "
            "written to it.",
        ),
    ] = None,
    no_proof: Annotated[
        bool, typer.Option("--no-proof", help="Do not ask exact engines what was not reached.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the search: .png, .svg, .pdf (matplotlib)."),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(help="Seconds for the search, and again for the proof.")
    ] = 60.0,
    task: Task = None,
    decides: Decides = None,
    cut: Cut = None,
    trust_pickle: Trust = False,
    json: Json = False,
) -> int:
    """The row that brings a model's number to about what is asked.

    Either --width, how far from the present output, or --to, the target output.  The model is asked
    about few rows; what is not reached is decided by exact engines.
    """
    source = commands.Source(model, space, trust_pickle, task, decides, cut)
    question = potentials.Question(
        factual, width, sign, to, budget, epsilon, requested.subject_to,
        kernel, seed, data, not no_proof, plot, time_limit,
    )  # fmt: skip
    return potentials.regress(source, question, json)


@app.command()
@guarded
@takes("constraints", "causal", "max_changes", "accepts")
def plan(
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    factual: Factual,
    target: Annotated[str | None, typer.Option(metavar="LABEL", help="Wanted label.")] = None,
    favourable: Favourable = None,
    retrain: Annotated[
        Path | None,
        typer.Option(metavar="DATA.CSV", help="Train the model again and again on parts of it."),
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="NAME", help="The outcome's column in --retrain.")
    ] = None,
    retrainings: Annotated[int, typer.Option(metavar="N", help="How often.")] = 1000,
    share: Annotated[float, typer.Option(help="Of the rows that each one sees.")] = 0.5,
    dated: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="FILE", help="Another dated model; may be repeated."),
    ] = None,
    moments: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Mean and covariance (JSON).")
    ] = None,
    shrinkage: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Of the covariance, or ledoit-wolf.  [default: none]"),
    ] = None,
    save_moments: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the moments (JSON).")
    ] = None,
    correct: Annotated[
        Path | None, typer.Option(metavar="ROWS.CSV", help="A plan to correct, instead of COPA.")
    ] = None,
    size: Annotated[
        int | None, typer.Option(metavar="J", help="How many rows.  [default: 5]")
    ] = None,
    radius: Annotated[float, typer.Option(help="Of the Gelbrich ball around the moments.")] = 0.01,
    epsilon: Annotated[float, typer.Option(help="Least score by the mean parameters.")] = 0.1,
    validity: Annotated[float, typer.Option(help="Weight of the validity radius.")] = 1.0,
    diversity: Annotated[float, typer.Option(help="Weight of diversity.")] = 10.0,
    corrections: Annotated[
        int | None,
        typer.Option(metavar="K", help="Rows to improve.  [default: 0; with --correct 3]"),
    ] = None,
    limit: Annotated[float, typer.Option(help="How far each of them may move.")] = 0.1,
    apart: Annotated[
        float, typer.Option(metavar="SHARE", help="Of its range, by which one number differs.")
    ] = 0.05,
    time_limit: Annotated[float, typer.Option(help="Seconds for finding rows.")] = 60.0,
    jobs: Annotated[int, typer.Option(help="Processes that retrain; -1 for all processors.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="Of what is drawn at random.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the bounds against the radius: .png, .svg, .pdf."),
    ] = None,
    task: Task = None,
    decides: Decides = None,
    cut: Cut = None,
    trust_pickle: Trust = False,
    json: Json = False,
) -> int:
    """A menu of counterfactuals that survives retraining of the model.

    Of linear classifiers.  The chance that all rows stay valid is bounded, for all laws of the
    future parameters with moments within --radius of those of --retrain, --model or --moments.
    """
    source = commands.Source(model, space, trust_pickle, task, decides, cut)
    question = plans.Question(
        factual, target, favourable, retrain, outcome, retrainings, share, dated or [], moments,
        shrinkage, save_moments, correct, size, radius, epsilon, validity, diversity, corrections,
        limit, apart, requested.subject_to, time_limit, jobs, seed, plot,
    )  # fmt: skip
    return plans.plan(source, question, json)


@generate_app.command("fit")
@guarded
def generate_fit(
    model: ModelFile,
    space: SpaceFile,
    data: Annotated[
        Path, typer.Option(metavar="DATA.CSV", help="Rows to learn from; best the model's own.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write the generator to.")],
    target: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The only target label.  [default: any]")
    ] = None,
    favourable: Favourable = None,
    epochs: Annotated[int, typer.Option(metavar="N", help="Passes over the rows, at most.")] = 200,
    buckets: Annotated[int, typer.Option(metavar="N", help="Most levels of a number.")] = 4,
    bucket_rows: Annotated[int, typer.Option(metavar="N", help="Fewest rows in each.")] = 100,
    alpha: Annotated[float, typer.Option(help="The price of a feature that may change.")] = 1e-3,
    gradient: Annotated[
        str, typer.Option(help="auto, pathwise, reinforce or straight-through.")
    ] = "auto",
    no_selector: Annotated[
        bool, typer.Option("--no-selector", help="Do without the network that picks features.")
    ] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the state; go on from one.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of what is drawn at random.")] = 0,
    task: Task = None,
    decides: Decides = None,
    cut: Cut = None,
    trust_pickle: Trust = False,
    json: Json = False,
) -> int:
    """Train a generator of counterfactuals for a classifier."""
    source = commands.Source(model, space, trust_pickle, task, decides, cut)
    training = generators.Training(
        data, out, target, favourable, epochs, buckets, bucket_rows, alpha, gradient, no_selector,
        checkpoint, seed,
    )  # fmt: skip
    return generators.fit(source, training, json)


@generate_app.command("run")
@guarded
@takes("max_changes", "constraints")
def generate_run(
    requested: Asked,
    model: ModelFile,
    space: SpaceFile,
    generator: Annotated[Path, typer.Option(metavar="FOLDER", help="What fit wrote.")],
    rows: Annotated[
        str, typer.Option(metavar="ROWS", help="data.csv; or row.json, data.csv:17 (from 0).")
    ],
    n: Annotated[int, typer.Option("-n", "--count", metavar="N", help="For each, at most.")] = 100,
    target: Annotated[str | None, typer.Option(metavar="LABEL", help="Wanted label.")] = None,
    favourable: Favourable = None,
    sparsity: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Of the numbers, that may change.")
    ] = None,
    diversity: Annotated[str, typer.Option(help="maxmin, dpp or none.")] = "maxmin",
    polish: Annotated[
        bool, typer.Option("--polish", help="Move each as near as its changes allow, exactly.")
    ] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds in all.")] = 60.0,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Of what is drawn.  [default: training's]")
    ] = None,
    out: Output = None,
    task: Task = None,
    decides: Decides = None,
    cut: Cut = None,
    trust_pickle: Trust = False,
    json: Json = False,
) -> int:
    """Draw counterfactuals for instances: valid, different, re-run through the model.

    CSV, with the instance's number and the counterfactual's first.  Exit code 4 if some
    instance got none; 3 if for all of these it is proved that there is none.
    """
    source = commands.Source(model, space, trust_pickle, task, decides, cut)
    request = generators.Request(
        generator, rows, n, target, favourable, sparsity, requested.subject_to, diversity,
        polish, time_limit, seed, out,
    )  # fmt: skip
    return generators.run(source, request, json)


@app.command()
@guarded
def report(
    answers: Annotated[
        Path, typer.Argument(metavar="ANSWERS", help="The folder that a batch was written to.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The page: .html.")],
    rows: Annotated[
        Path | None, typer.Option(metavar="DATA.CSV", help="The rows that were asked about.")
    ] = None,
    group: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Columns of --rows to compare distances by: a,b.")
    ] = None,
    certificates: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Certificates to check and to list.")
    ] = None,
    title: Annotated[str, typer.Option(help="Of the page.")] = "",
) -> int:
    """A page about a batch of answers.

    One file of HTML: how many were answered and proved, distances, which features change, by group.
    """
    return overview.overview(answers, out, rows, group, certificates, title)


@app.command()
@guarded
def check(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="A .json file, or .json.gz.")
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Compile this file anew: is it the same program?"),
    ] = None,
    rows: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Run model and program on these rows too.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Of the rows that are drawn.  [default: random]")
    ] = None,
    decides: Decides = None,
    cut: Cut = None,
    trust_pickle: Trust = False,
    policy: Annotated[
        Path | None,
        typer.Option(metavar="TOML", help="Reject a question that allows less than this."),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page to read (Markdown).")
    ] = None,
    vipr: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Is this .vipr file about it?")
    ] = None,
    cpc: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Is this .cpc file, with its script?")
    ] = None,
    json: Json = False,
) -> int:
    """Whether a certificate holds, and what it says.

    Exit code 0 if it does, 5 if not.  The same check without cfxc: see the command checker.
    """
    code = certificates.check(
        certificate, model, rows, seed, trust_pickle, decides, cut, policy, summary, json
    )
    return code or certificates.compare(certificate, vipr, cpc, json)


@app.command()
@guarded
def checker(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path(
        "cfxc-check.pyz"
    ),
) -> int:
    """Write the checker as one file, for auditors.

    It runs as python cfxc-check.pyz CERTIFICATE, and needs Python alone.
    """
    return certificates.checker(out)


@app.command()
@guarded
def export(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="A .json file, or .json.gz.")
    ],
    format: Annotated[
        str, typer.Option(help="smt2 (both bounds), cpc (cvc5's proof) or vipr (branch and bound).")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Beginning of the names of the files to write.")
    ],
    time_limit: Annotated[float, typer.Option(help="Seconds for finding a proof.")] = 60.0,
) -> int:
    """Certificates for other checkers."""
    return certificates.export(certificate, format, out, time_limit)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            os.open(os.devnull, os.O_RDWR)  # or the next file would get its number
            setattr(sys, name, io.StringIO())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without the signs still gets a text
            stream.reconfigure(errors="backslashreplace")
    return ended(lambda: _parsed(None if arguments is None else list(arguments)))


def _parsed(arguments: list[str] | None) -> int:
    try:
        typer.main.get_command(app).main(args=arguments, prog_name="cfxc")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            raise BrokenPipeError from end
        return end.code if isinstance(end.code, int) else FAULT
    return 0

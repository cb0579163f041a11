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
from ..writing import check_writable
from . import batch, certificates, commands, generate, new, overview, plan, regress, serve, spaces
from .emission import Emit, Transformer, emission
from .flags import Group, Json, ModelFile, Output, Reading, SpaceFile, grouped
from .guard import FAULT, deliver, ended, guarded
from .remedies import begin

app = typer.Typer(
    name="cfxc",
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
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
    limit was reached (the best answer is printed) or no certificate can be written, 5 one does not
    hold, 130 Ctrl-C was pressed (a search prints its best answer).
    """


@app.command()
@guarded
def demo() -> int:
    """The main job on real data that ships with scikit-learn."""
    from .demo import demo as run

    return run()


@app.command("models")
@guarded
def supported(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One class or op.  [default: all]")
    ] = None,
    json: Json = False,
) -> int:
    """Which models are supported, and why others are not."""
    from .models import models as run

    return run(name, json)


@app.command("compile")
@guarded
@grouped
def compile_(
    *,
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
    reading: Reading,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="PASS", help="Show the IR after multiply_out, narrow_argmax or fold_into_trees."
        ),
    ] = None,
    out: Output = None,
) -> int:
    """Print a model as IR, core-language program, formula or SMT-LIB."""
    source = commands.Source(model, space, reading)
    check_writable(out, *source.files)
    text = emission(source.load(), Path(model).name, emit, formula, printed or [], after)
    deliver(text, out)
    return 0


space_app.command("infer")(spaces.command)
app.command("new")(new.command)
app.command("explain")(commands.explain)
app.command("batch")(batch.command)
app.command("regress")(regress.command)
app.command("plan")(plan.command)
generate_app.command("fit")(generate.fit)
generate_app.command("run")(generate.run)
app.command("report")(overview.command)
app.command("serve")(serve.command)
app.command("check")(certificates.check)
app.command("checker")(certificates.checker)
app.command("export")(certificates.export)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            os.open(os.devnull, os.O_RDWR)  # or the next file would get its number
            setattr(sys, name, io.StringIO())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without the signs still gets a text
            stream.reconfigure(errors="backslashreplace")
    begin(sys.argv[1:] if arguments is None else arguments)
    return ended(lambda: _parsed(None if arguments is None else list(arguments)))


def _parsed(arguments: list[str] | None) -> int:
    try:
        typer.main.get_command(app).main(args=arguments, prog_name="cfxc")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            raise BrokenPipeError from end
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            raise KeyboardInterrupt from end  # outside of what a command guards
        return end.code if isinstance(end.code, int) else FAULT
    return 0

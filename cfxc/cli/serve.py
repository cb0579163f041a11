"""``cfxc serve``: a page in the browser to ask a model on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidInputError
from .flags import Favourable, ModelFile, QuestionFile, Reading, SpaceFile, grouped
from .guard import guarded


@guarded
@grouped
def command(
    *,
    model: ModelFile,
    space: SpaceFile,
    data: Annotated[
        Path | None,
        typer.Option("--data", "--rows", metavar="TABLE", help="To pick from: .csv, .parquet."),
    ] = None,
    question: QuestionFile = None,
    favourable: Favourable = None,
    reading: Reading,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes one that is free.")] = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="What browsers may call this machine; may be repeated."),
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Most seconds of a search.")] = 60.0,
    jobs: Annotated[int, typer.Option(help="Searches at once, each in a process.")] = 2,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> int:
    """A page in the browser to ask a model on; ends by Ctrl-C.

    The page is for this machine alone unless --host says otherwise.
    """
    if not 0 < time_limit < float("inf"):
        raise InvalidInputError("--time-limit: a number of seconds above 0")
    if not 1 <= jobs <= 64:
        raise InvalidInputError("--jobs: from 1 to 64")
    from ..web.server import serve
    from ..web.site import Files

    files = Files(
        model, str(space), None if data is None else str(data),
        None if question is None else str(question), favourable,
        reading.trust_pickle, None if reading.task is None else reading.task.value, reading.output,
        reading.cut,
    )  # fmt: skip
    serve(files, host, port, allow_host or [], time_limit, jobs, open_)
    return 0

"""``cfxc space infer``: the feature space of a table, with what is said about its columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import DataTypeError, InvalidInputError, MissingColumnError
from ..frontends.row_files import read_frame
from ..writing import check_writable
from .flags import NAMES, Columns, Output, Overwrite, grouped
from .guard import deliver, guarded, keep_present
from .report import say_next
from .tables import advice, column_names, doubts, notes, read_levels, read_steps, without

if TYPE_CHECKING:
    import pandas as pd

    from ..space import FeatureSpace

DataFile = Annotated[
    Path, typer.Argument(metavar="DATA.CSV", help="One row per instance; or .parquet.")
]
OutcomeColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="The outcome's column, left out.")
]
Drop = Annotated[Columns, typer.Option(metavar=NAMES, help="Other columns to leave out: a,b.")]
INFERRED = "# inferred from the data: nine in ten values, or all, are multiples of it"
CONTINUOUS = '# resolution = "0.01"  # the data move in no step of up to 6 decimals: any double'


@dataclass(frozen=True)
class Marks:
    """What is said about the columns of features."""

    fixed: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Columns that may not change: a,b.")
    ] = None
    increase: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Columns that may only rise.")
    ] = None
    decrease: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Columns that may only fall.")
    ] = None
    one_hot: Annotated[
        Columns, typer.Option(metavar="PREFIXES", help="Prefixes of one-hot groups: sector_.")
    ] = None
    thermometer: Annotated[
        Columns, typer.Option(metavar="PREFIXES", help="Prefixes of groups of rising steps: edu_.")
    ] = None
    ordinal: Annotated[
        Columns,
        typer.Option(metavar="LEVELS", help="In rising order: size=small,large; may be repeated."),
    ] = None
    categorical: Annotated[
        Columns, typer.Option(metavar=NAMES, help="Columns of numbers that are codes.")
    ] = None
    resolution: Annotated[
        Columns, typer.Option(metavar="STEP", help="Of a number: pay=0.01; may be repeated.")
    ] = None


@dataclass(frozen=True)
class Statement:
    """What is said about the columns of a table."""

    target: str | None
    drop: list[str] | None
    marks: Marks

    def infer(self, table: Path, frame: pd.DataFrame) -> tuple[pd.DataFrame, FeatureSpace]:
        """The columns of the features, and their space; odd columns are warned of on stderr."""
        from ..space import FeatureSpace

        for line in doubts(frame):
            print(f"cfxc: warning: {table}: {line}", file=sys.stderr)
        with _told_of(table):
            dropped = column_names(self.drop, list(frame.columns))
            frame = without(frame, [*dropped, *([] if self.target is None else [self.target])])
            columns = list(frame.columns)
            space = FeatureSpace.infer(
                frame,
                fixed=column_names(self.marks.fixed, columns),
                increase=column_names(self.marks.increase, columns),
                decrease=column_names(self.marks.decrease, columns),
                one_hot=column_names(self.marks.one_hot, columns),
                thermometer=column_names(self.marks.thermometer, columns),
                ordinal=read_levels(self.marks.ordinal, frame),
                kinds=dict.fromkeys(column_names(self.marks.categorical, columns), "categorical"),
                resolution=read_steps(self.marks.resolution, columns),
            )
        for line in advice(frame, space):
            print(f"cfxc: warning: {line}", file=sys.stderr)
        for line in notes(frame, space):
            print(f"note: {line}", file=sys.stderr)
        return frame, space

    def written(self, frame: pd.DataFrame, space: FeatureSpace) -> str:
        """The space as TOML, with a note on each step that was not stated."""
        from ..space.values import decimal_text

        stated = read_steps(self.marks.resolution, list(frame.columns))
        head, *blocks = space.to_toml().split("[[feature]]\n")
        for place, feature in enumerate(space):
            if feature.kind != "real" or (not isinstance(stated, str) and feature.name in stated):
                continue
            step = feature.resolution
            if step is None:
                note = CONTINUOUS
                blocks[place] = blocks[place].replace("\naction = ", f"\n{note}\naction = ", 1)
                continue
            line = f'resolution = "{decimal_text(step)}"' if step < 1 else f"resolution = {step}"
            blocks[place] = blocks[place].replace(f"\n{line}\n", f"\n{line}  {INFERRED}\n", 1)
        return "[[feature]]\n".join([head, *blocks])


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Messages about a table start with its file."""
    try:
        yield
    except (InvalidInputError, DataTypeError, MissingColumnError) as error:
        raise type(error)(f"{path}: {error}") from error


def note_ranges(space: Path) -> None:
    """A line on stderr about what ranges are, and where they are widened."""
    print(
        f"note: ranges are those of the table, and rows outside are refused; widen them in {space}",
        file=sys.stderr,
    )


@guarded
@grouped
def command(
    *,
    table: DataFile,
    target: OutcomeColumn = None,
    drop: Drop = None,
    out: Output = None,
    overwrite: Overwrite = False,
    marks: Marks,
) -> int:
    """Infer the feature space of a table: kinds, ranges, resolutions.

    The table is CSV: commas, a header, UTF-8. An empty cell is a missing value; so are NA, NaN,
    null and None in a column of numbers, while in a column of text they are texts. Codes with
    leading zeros (007) are text.
    """
    check_writable(out, table)
    keep_present(overwrite, out)
    said = Statement(target, drop, marks)
    deliver(said.written(*said.infer(table, read_frame(table))), out)
    if out is not None:
        note_ranges(out)
        say_next("cfxc", "explain", "MODEL", "--space", out, "--factual", f"{table}:0")
    return 0

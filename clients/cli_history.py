"""`triplewire history`: years of observations into a store, and out of the journal into an archive."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .cli_archive import archive, query, rollup
from .cli_history_load import load
from .cli_history_options import Destination, Pace, Share, destination_options, pace_options, spark_options
from .cli_progress import progress_bar
from .historic.generator import rows

if TYPE_CHECKING:
    from typing import TextIO

    from .cli_history_options import SparkChoice

_AT_ONCE = 1000


@click.group()
def history() -> None:
    """Load years of sensor files, archive what the broker sees, and ask the archive.

    Needs Spark, which comes with the extra `spark`: pip install 'triplewire[spark]'.  Parts in a folder, and made-up
    data, need no Spark.
    """


history.add_command(load)
history.add_command(archive)
history.add_command(query)
history.add_command(rollup)


@history.command()
@destination_options
@pace_options
@spark_options
@click.argument("directory")
def parts(directory: str, destination: Destination, pace: Pace, spark: SparkChoice) -> None:
    """Load the parts in DIRECTORY, which `history load --out` has made, here or on a cluster.

    Started again after an interruption, it goes on where it was; --anew loads everything again.
    """
    destination.load(directory, pace, spark)


@history.command()
@click.option(
    "--rows", "count", type=click.IntRange(min=0), required=True, help="How many rows, without the header."
)
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same rows.")
@click.option(
    "--broken", type=Share(), default="0%", show_default=True, help="The share of rows with something wrong."
)
@click.argument("out", type=click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path))
def generate(count: int, seed: int, broken: float, out: Path) -> None:
    """Write made-up sensor data as CSV: station, property, value, unit, time; - is standard output."""
    if str(out) == "-":
        _write(sys.stdout, count, seed, broken)
        return
    with out.open("w", encoding="utf-8", newline="") as file:
        _write(file, count, seed, broken)


def _write(file: TextIO, count: int, seed: int, broken: float) -> None:
    with progress_bar("writing", count, "rows") as told:
        for number, row in enumerate(rows(count, seed, broken)):
            file.write(row)
            if number % _AT_ONCE == 0:
                told(number)
        told(count)

"""`triplewire history archive`, `query` and `rollup`: the broker's journal as Parquet, and what it tells."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .addresses import Addresses
from .cli_archive_rows import FORMATS, write_rows
from .cli_common import access_options, url_option
from .cli_durations import Duration, Time
from .cli_history_options import Destination, pace_options, spark_options
from .historic.part_files import is_local
from .settings import ClientSettings
from .sparql import SparqlClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from .cli_common import Access
    from .cli_history_options import Pace, SparkChoice
    from .historic.rolling_up import RolledUp

_URGENCY = 6  # others' updates go first
_archive_option = click.option(
    "--archive",
    "path",
    metavar="ARCHIVE",
    required=True,
    help="Where `history archive` wrote: any path of Spark's.",
)


@click.command()
@url_option
@access_options
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The directory of a broker's --data on this machine, running or not, instead of --url.",
)
@click.option(
    "--out", metavar="ARCHIVE", required=True, help="Where to write: a folder, or any path of Spark's."
)
@click.option("--once", is_flag=True, help="Take what there is now, and end.")
@click.option(
    "--every", type=Duration(), default="10s", show_default=True, help="Without --once: how often to write."
)
@click.option("--compact", is_flag=True, help="Make few large files of days that are over.")
@click.option(
    "--batch-bytes",
    type=click.IntRange(min=1),
    default=128 * 1024 * 1024,
    show_default=True,
    help="About how much of the journal goes into one batch.",
)
@spark_options
def archive(  # noqa: PLR0913, PLR0917 - one for each option
    url: str,
    data: Path | None,
    out: str,
    once: bool,
    every: timedelta,
    compact: bool,
    batch_bytes: int,
    access: Access,
    spark: SparkChoice,
) -> None:
    """Keep a broker's journal as Parquet files, each change exactly once, until interrupted.

    Started again, it goes on where it was.  What was there before the journal's first record is in the archive, too.
    """
    # Here, so that other commands need no Spark.
    from .historic.journal_options import JournalOptions  # noqa: PLC0415

    session = spark.session()
    from .historic.archive import Archive  # noqa: PLC0415
    from .historic.archiving import ArchiveSettings, Archiving  # noqa: PLC0415

    if data is not None:
        options = JournalOptions(data=str(data.resolve()))
    else:
        options = JournalOptions(
            url=url,
            token=access.token or "",
            identity=(access.identity or "") if access.token is None else "",
            ca=access.ca_file or "",
            insecure=access.insecure,
        )
    settings = ArchiveSettings(None if once else every.total_seconds(), compact, batch_bytes)
    with _until_interrupted() as stopped:
        Archiving(Archive(session, _absolute(out)), options, settings).run(stopped)


@contextmanager
def _until_interrupted() -> Iterator[threading.Event]:
    """Set by SIGINT and SIGTERM: what there is by then is archived, and the command ends."""
    stopped = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stopped.set()) for number in numbers]
    try:
        yield stopped
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _absolute(path: str) -> str:
    return str(Path(path).resolve()) if is_local(path) and "://" not in path else path


@click.command()
@_archive_option
@click.option("--sensor", metavar="IRI", help="Observations of this sensor.")
@click.option("--property", metavar="IRI", help="Observations of this property only.")
@click.option(
    "--subject", metavar="IRI", help="Instead of observations: values of this subject's --predicate."
)
@click.option("--predicate", metavar="IRI", help="The predicate whose values are replaced again and again.")
@click.option("--graph", metavar="IRI", help="In this graph; else in any.")
@click.option("--from", "start", type=Time(), required=True, help="The first moment that is in.")
@click.option("--to", "end", type=Time(), default="now", show_default=True, help="The first that is not.")
@click.option(
    "--as-of", type=Time(), help="As the broker would have answered then; else all that was ever observed."
)
@click.option(
    "--within",
    type=Duration(),
    help="A promise: observations reached the broker within this time of their own.  Spares reading other days.",
)
@click.option(
    "--every", type=click.Choice(["minute", "hour", "day"]), help="min, max, mean, count, last of each."
)
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@spark_options
def query(path: str, every: str | None, format_: str, spark: SparkChoice, **asked: Any) -> None:
    """Print values between two times from an archive.

    Observations are told by sosa:madeBySensor, resultTime, hasSimpleResult and observedProperty; with --subject and
    --predicate the time is that of the change.
    """
    if (asked["sensor"] is None) == (asked["subject"] is None and asked["predicate"] is None):
        raise click.UsageError("give --sensor, or --subject and --predicate, one of the two")
    if asked["sensor"] is None and None in {asked["subject"], asked["predicate"]}:
        raise click.UsageError("--subject and --predicate belong together")
    if asked["start"] >= asked["end"]:
        raise click.UsageError("--from is not before --to")
    session = spark.session()
    from .historic.archive import Archive  # noqa: PLC0415
    from .historic.asking import ask  # noqa: PLC0415
    from .historic.slices import Slice  # noqa: PLC0415

    try:
        answer = ask(Archive(session, _absolute(path)), Slice(**asked), every)  # type: ignore[arg-type]  # click checked
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    write_rows(answer.rows, answer.columns, format_, sys.stdout)


@click.command()
@url_option
@access_options
@pace_options
@_archive_option
@click.option("--sensor", metavar="IRI", help="Of this sensor; else of all.")
@click.option("--property", metavar="IRI", help="Of this property; else of all.")
@click.option(
    "--from", "start", type=Time(), required=True, help="Hours and days that begin before are left out."
)
@click.option("--to", "end", type=Time(), default="now", show_default=True, help="Those that end after, too.")
@click.option("--every", type=click.Choice(["hour", "day"]), default="hour", show_default=True)
@click.option(
    "--statistic",
    "statistics",
    type=click.Choice(["min", "max", "mean", "count", "last"]),
    multiple=True,
    help="Several times for several.  [all five]",
)
@click.option(
    "--grace",
    type=Duration(),
    default="1h",
    show_default=True,
    help="An hour or day is over so long after its end, by the last change in the archive.",
)
@click.option(
    "--base", metavar="IRI", default="http://localhost/", show_default=True, help="What the IRIs begin with."
)
@click.option("--graph", metavar="IRI", help="The graph to load into; else the default graph.")
@click.option("--out", metavar="DIR", help="Write parts for `history parts` here, instead of loading them.")
@spark_options
def rollup(  # noqa: PLR0913, PLR0917 - one for each option
    url: str,
    access: Access,
    pace: Pace,
    path: str,
    every: str,
    statistics: tuple[str, ...],
    grace: timedelta,
    base: str,
    graph: str | None,
    out: str | None,
    spark: SparkChoice,
    **asked: Any,
) -> None:
    """Load hourly or daily values of an archive into a broker as observations of their own, with their provenance.

    Done again, it changes nothing but what an observation that came late has made untrue.
    """
    session = spark.session()
    from .historic.archive import Archive  # noqa: PLC0415
    from .historic.archiving import told  # noqa: PLC0415
    from .historic.ntriples_columns import iri_term  # noqa: PLC0415
    from .historic.rolling_up import rolled_up  # noqa: PLC0415
    from .historic.rollups import STATISTICS, Rollup  # noqa: PLC0415
    from .historic.slices import Slice  # noqa: PLC0415

    one = Archive(session, _absolute(path))
    wanted = Rollup(every, "", base, statistics or STATISTICS)  # type: ignore[arg-type]  # click has checked both
    try:
        with told():
            if graph is not None:
                iri_term(graph)
            done = rolled_up(one, Slice(**asked), wanted, grace)
            manifest = done.write(_absolute(out) if out is not None else one.files.at("rollups"))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if out is not None:
        print(f"{out}: {manifest.lines:,} quads", file=sys.stderr)
    else:
        _load(done, one.files.at("rollups"), Destination(url, None, None, graph, access), pace, spark)
    done.close()


def _load(done: RolledUp, parts: str, destination: Destination, pace: Pace, spark: SparkChoice) -> None:
    """First what is not true any more goes, then all comes: in between there is no result, rather than two."""
    from .historic.archiving import told  # noqa: PLC0415
    from .historic.outdated import take_away  # noqa: PLC0415

    access = destination.access
    settings = access.settings(ClientSettings(urgency=_URGENCY))
    authorization = access.authorization(Addresses.of(destination.url))
    with told(), SparqlClient(destination.url, settings=settings, authorization=authorization) as client:
        take_away(client, done.results(), destination.graph)
    # The broker may have lost what it was sent before: it knows itself what it has.
    destination.load(parts, replace(pace, anew=True), spark)

"""`triplewire journal`: looking at what a broker keeps in its directory, and taking it elsewhere."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from triplewire.broker.journal.inspection import SegmentReport, SnapshotReport
    from triplewire.broker.journal.moment import Moment
    from triplewire.broker.journal.record import Record

_directory = click.argument(
    "directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
)


@click.group()
def journal() -> None:
    """Look at what a broker keeps in the directory of its --data, also while it runs."""


@journal.command()
@_directory
def verify(directory: Path) -> int:
    """Read every byte and say what is there; the exit code is 1 where something is damaged."""
    from triplewire.broker.journal import inspection  # noqa: PLC0415 - so that other commands load no engine

    report = inspection.verify(directory)
    for snapshot in report.snapshots:
        print(_snapshot_line(snapshot))
    for segment in report.segments:
        print(_segment_line(segment))
    if not report.problems:
        print(f"whole: {len(report.snapshots)} snapshots, {len(report.segments)} segments")
    return 1 if report.problems else 0


def _snapshot_line(report: SnapshotReport) -> str:
    if report.problem:
        return f"snapshot {report.sequence}: {report.problem}"
    return f"snapshot {report.sequence}: {report.quads} quads, {report.size} bytes"


def _segment_line(report: SegmentReport) -> str:
    torn = f", and {report.torn_bytes} of a record that is not whole" if report.torn_bytes else ""
    if report.problem:
        return f"segment {report.path.name}: {report.problem}"
    held = f"records {report.first} to {report.last}" if report.last >= report.first else "no record"
    return f"segment {report.path.name}: {held}, {report.size} bytes{torn}"


@journal.command()
@_directory
@click.option("--after", default=0, show_default=True, help="Begin after this record.")
@click.option("--to", "up_to", type=int, help="End with this record.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def dump(directory: Path, after: int, up_to: int | None, format_: str) -> None:
    """Print the changes in order: what went with -, what came with +; or one JSON object a line."""
    from triplewire.broker.journal import inspection  # noqa: PLC0415

    for record in inspection.dump(directory, after, up_to):
        sys.stdout.write(_as_text(record) if format_ == "text" else _as_json(record))


def _time(record: Record) -> str:
    moment = datetime.fromtimestamp(record.time_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _as_text(record: Record) -> str:
    by = f" by {record.client}" if record.client else ""
    parts = [f"# {record.sequence} {_time(record)}{by}\n"]
    parts += [f"- GRAPH {graph}\n" for graph in record.dropped]
    parts += [f"- {line}\n" for line in record.deleted.decode().splitlines()]
    parts += [f"+ {line}\n" for line in record.inserted.decode().splitlines()]
    parts += [f"+ GRAPH {graph.value}\n" for graph in record.delta().created]
    return "".join(parts)


def _as_json(record: Record) -> str:
    document = {
        "sequence": record.sequence,
        "time": _time(record),
        "client": record.client,
        "added": record.inserted.decode().splitlines(),
        "removed": record.deleted.decode().splitlines(),
        "createdGraphs": sorted(graph.value for graph in record.delta().created),
        "droppedGraphs": list(record.dropped),
    }
    return json.dumps(document, ensure_ascii=False) + "\n"


@journal.command()
@_directory
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--at", metavar="TIME", help="A time as 2026-05-04T10:00:00Z (local without a zone), or a record."
)
def restore(directory: Path, out: Path, at: str | None) -> None:
    """Write the dataset as it was at a time, or is now, to a file of N-Quads."""
    from triplewire.broker.journal import restore as restoring  # noqa: PLC0415

    done = restoring.restore(directory, out, None if at is None else _moment(at))
    print(f"{out}: {done.quads} quads, as after record {done.sequence}", file=sys.stderr)


def _moment(text: str) -> Moment:
    if text.isascii() and text.isdigit() and len(text) != len("20260504"):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{text} is neither a time nor the number of a record", param_hint="--at"
        ) from error
    return moment if moment.tzinfo is not None else moment.astimezone()


@journal.command()
@_directory
@click.argument("out", type=click.Path(path_type=Path))
def backup(directory: Path, out: Path) -> None:
    """Copy what is needed to start again to a new directory, while the broker runs; the copy is checked."""
    from triplewire.broker.journal.backup import back_up  # noqa: PLC0415

    done = back_up(directory, out)
    print(f"{out}: up to record {done.sequence}, {done.size} bytes", file=sys.stderr)

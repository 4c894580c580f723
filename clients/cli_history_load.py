"""`triplewire history load`: sensor files, by a mapping, into a broker, a directory, or parts."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from .cli_history_options import destination_options, pace_options, spark_options
from .cli_progress import waiting
from .historic.errors import HistoryError, TooManyRejected
from .historic.inputs import Inputs, fingerprint
from .historic.limits import Limit
from .historic.loading import open_parts
from .historic.mapping_problems import MappingError
from .historic.mappings import read_mapping
from .historic.part_files import PartsError, is_local
from .historic.progress_file import state_folder
from .prefixes import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping as Named

    from .cli_history_options import Destination, Pace, SparkChoice
    from .historic.plan import Mapping
    from .historic.report import Report


@dataclass(frozen=True, slots=True)
class _Job:
    """What a mapping makes, of what, and where to; `folder` is ours to remove, None where the user wants the parts."""

    mapping_file: Path
    mapping: Mapping
    paths: Named[str, str]
    out: str
    folder: Path | None
    quarantine: str | None
    report: Path | None
    max_rejected: Limit


@click.command()
@destination_options
@pace_options
@spark_options
@click.option(
    "--mapping",
    "mapping_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="RML or R2RML in Turtle (.ttl), or the short form for observations (.toml).",
)
@click.option(
    "--base", default="http://localhost/", show_default=True, help="For IRIs without a scheme, in RML."
)
@click.option(
    "--out",
    metavar="DIR",
    help="Where to leave the parts: a folder, or any path of Spark's.  Without --url or --data nothing else is done.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Where to write what came of it: JSON, or text if it ends in .txt.",
)
@click.option(
    "--quarantine",
    metavar="DIR",
    help="Where rows go that can't be mapped, with file, line and reason; what was there is replaced.  [below --out]",
)
@click.option(
    "--max-rejected",
    default="1%",
    show_default=True,
    help="Of more rows than these, a share or a number, nothing is loaded at all.",
)
@click.argument("sources", nargs=-1, metavar="[SOURCE | NAME=SOURCE]...")
def load(  # noqa: PLR0913, PLR0917 - one for each option
    destination: Destination,
    pace: Pace,
    spark: SparkChoice,
    mapping_file: Path,
    base: str,
    out: str | None,
    report: Path | None,
    quarantine: str | None,
    max_rejected: str,
    sources: tuple[str, ...],
) -> None:
    """Map sensor files to RDF and load it: SOURCE is a file, a folder or a glob, instead of the mapping's own.

    A mapping of several sources has them named: stations=stations.csv.  Rows that can't be mapped are set aside.  Into
    a running broker (--url) it goes beside everybody else's updates, which go first; --data loads the directory of one
    that is not running, and --out leaves parts, which `history parts` loads.

    Started again after an interruption, whatever was killed, the same command goes on where it was.
    """
    mapping = _read(mapping_file, base)
    paths = _paths(mapping, sources, spark)
    if spark.is_local:
        out, quarantine = (path and _absolute(path) for path in (out, quarantine))
    folder = None
    is_loaded = out is None or _is_given("url") or _is_given("data")
    if out is None:
        folder = _folder(mapping_file, paths, destination)
        out, quarantine = str(folder / "parts"), quarantine or str(folder / "quarantine")
    job = _Job(mapping_file, mapping, paths, out, folder, quarantine, report, _limit(max_rejected))
    _mapped(job, pace, spark)
    if is_loaded:
        destination.load(job.out, pace, spark)
    if folder is not None:
        shutil.rmtree(job.out, ignore_errors=True)
        Inputs(job.out, os.environ).forget()


def _mapped(job: _Job, pace: Pace, spark: SparkChoice) -> None:
    """Have the parts made, unless they are there of the same inputs."""
    inputs = Inputs(job.out, os.environ)
    files = [job.paths.get(source.name, source.path) for source in job.mapping.sources]
    known = fingerprint(job.mapping_file, files, job.mapping.base_iri, str(job.max_rejected))
    if not pace.anew and inputs.made(known, _hash(job.out, spark)):
        print(f"mapped before: goes on with the parts in {job.out}", file=sys.stderr)
        return
    _map(job, spark, anew=pace.anew)
    inputs.keep(known, _hash(job.out, spark))


def _hash(out: str, spark: SparkChoice) -> str:
    """Of the parts there; empty where there are none."""
    try:
        with open_parts(out, spark.session) as files:
            return files.hash
    except PartsError:
        return ""


def _map(job: _Job, spark: SparkChoice, *, anew: bool) -> None:
    session = spark.session()
    # Here, so that commands that need no Spark, and errors before it starts, need none.
    from .historic.mapping_run import RunSettings, run  # noqa: PLC0415
    from .historic.parts import PartSettings  # noqa: PLC0415

    master = session.sparkContext.master or ""
    # One that says file: knows what it does, as with a folder that all machines have
    if not master.startswith("local") and "://" not in job.out:
        raise click.UsageError(
            f"executors of {master} may be elsewhere: give --out a path that all of them reach, as hdfs://..."
        )
    if job.folder is not None:
        # Of a run that was cut off, or a load that was never finished
        shutil.rmtree(job.folder, ignore_errors=True)
    settings = RunSettings(
        job.quarantine, job.max_rejected, PartSettings(overwrite=anew or job.folder is not None)
    )
    try:
        with waiting("mapping"):
            report = run(session, job.mapping, job.paths, job.out, settings)
    except TooManyRejected as error:
        _tell(error.report, job.report)
        raise
    _tell(report, job.report)
    if is_local(job.out):
        click.get_current_context().close()  # the load needs no Spark, and may need its memory


def _tell(report: Report, file: Path | None) -> None:
    print(report.text(), file=sys.stderr)
    if file is not None:
        text = report.text() if file.suffix == ".txt" else report.json()
        file.write_text(f"{text}\n", encoding="utf-8")


def _read(file: Path, base: str) -> Mapping:
    """The mapping; what is wrong with it is told line by line."""
    try:
        return read_mapping(file, base)
    except MappingError as error:
        *lines, last = str(error).splitlines()
        for line in lines:
            print(escaped(line), file=sys.stderr)
        raise click.ClickException(last.strip()) from error


def _paths(mapping: Mapping, sources: tuple[str, ...], spark: SparkChoice) -> dict[str, str]:
    """Paths by the names of the mapping's sources; one without a name, or several, are for the only source.

    Raises:
        click.UsageError: it is not clear which is which.
    """
    names = [source.name for source in mapping.sources]
    found: dict[str, list[str]] = {}
    for source in sources:
        name, equals, path = source.partition("=")
        if not equals or name not in names:
            if len(names) != 1:
                known = ", ".join(names)
                raise click.UsageError(
                    f"{source}: which of the mapping's sources? NAME=SOURCE; there are {known}"
                )
            name, path = names[0], source
        found.setdefault(name, []).append(_absolute(path) if spark.is_local else path)
    return {name: _together(paths) for name, paths in found.items()}


def _absolute(path: str) -> str:
    return str(Path(path).absolute()) if is_local(path) and "://" not in path else path


def _together(paths: list[str]) -> str:
    """One path that means all: Hadoop's globs have alternatives.

    Raises:
        click.UsageError: a path has characters that mean something in there.
    """
    if len(paths) == 1:
        return paths[0]
    for path in paths:
        if any(character in path for character in "{},"):
            raise click.UsageError(
                f"{path}: among several, a path can't have braces or commas; give a folder or a glob"
            )
    return "{" + ",".join(paths) + "}"


def _folder(mapping_file: Path, paths: Named[str, str], destination: Destination) -> Path:
    """Where the parts of this command are until they are loaded: the same command finds them again."""
    told = (str(mapping_file.resolve()), *sorted(paths.items()), destination.name, destination.graph)
    return state_folder(os.environ) / f"load-{hashlib.sha256(repr(told).encode()).hexdigest()[:16]}"


def _limit(text: str) -> Limit:
    try:
        return Limit.of(text)
    except HistoryError as error:
        raise click.BadParameter(str(error), param_hint="--max-rejected") from error


def _is_given(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE

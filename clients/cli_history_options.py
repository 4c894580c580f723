"""Options of the `history` commands, each group of them as one argument."""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from pyoxigraph import NamedNode

from .addresses import Addresses
from .cli_common import access_options, url_option
from .cli_progress import progress_bar
from .historic.chunk_size import ChunkSettings
from .historic.loading import load_into_broker, open_parts
from .historic.offline import load_offline
from .historic.online import OnlineSettings
from .settings import ClientSettings
from .sparql import SparqlClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from .cli_common import Access
    from .historic.part_files import PartFiles
    from .historic.spark_running import Session

C = TypeVar("C", bound="Callable[..., object]")

_URGENCY = 6  # a load lets everybody else's updates go first
_DEFAULTS = ChunkSettings()
# Set where spark-submit has started us: it says which master.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"


class Share(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.2 on
    """A part of all: `1%`, or `0.01`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Within 0 and 1."""
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"{text!r} is no share; 1% and 0.01 are", param, ctx)
        return share


@dataclass(frozen=True, slots=True)
class SparkChoice:
    """Which Spark does the work."""

    master: str
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether executors see the folders of this machine."""
        return self.master.startswith("local")

    def session(self) -> Session:
        """Start it; it ends with the command.

        Raises:
            click.ClickException: it is not installed.
            NoJava: there is no Java for it.
        """
        try:
            # Most commands need no Spark
            from .historic.spark_running import is_running  # noqa: PLC0415
            from .historic.spark_session import spark_session  # noqa: PLC0415
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in {"pyspark", "py4j", "pandas", "pyarrow", "numpy"}:
                raise
            raise click.ClickException(
                f"this needs Spark, and {error.name} is not installed: pip install 'triplewire[spark]'"
            ) from error
        is_ours = not is_running()
        session = spark_session(self.master, "triplewire history", dict(self.settings))
        if is_ours:
            click.get_current_context().call_on_close(session.stop)
        return session


@dataclass(frozen=True, slots=True)
class Pace:
    """How a load shares a running broker with others."""

    chunks: ChunkSettings
    give_up_s: float
    anew: bool


@dataclass(frozen=True, slots=True)
class Destination:
    """A running broker, or the directory of one that is not running."""

    url: str
    data: Path | None
    engine: str | None
    graph: str | None
    access: Access = field(repr=False)

    @property
    def name(self) -> str:
        """The URL or the directory."""
        return self.url if self.data is None else str(self.data)

    def load(self, directory: str, pace: Pace, spark: SparkChoice) -> None:
        """Load the parts in a directory, with a bar and a line on standard error in the end.

        Raises:
            ClientError, BrokerError, JournalDamaged, OSError: it can't be done; the message says what to do.
        """
        with open_parts(directory, spark.session) as files:
            if self.data is None:
                self._online(files, pace)
            else:
                self._offline(files, self.data)

    def _online(self, files: PartFiles, pace: Pace) -> None:
        settings = self.access.settings(ClientSettings(urgency=_URGENCY))
        authorization = self.access.authorization(Addresses.of(self.url))
        online = OnlineSettings(chunks=pace.chunks, give_up_s=pace.give_up_s, graph=self.graph)
        with (
            SparqlClient(self.url, settings=settings, authorization=authorization) as client,
            progress_bar("loading", files.lines, "quads") as told,
        ):
            loaded = load_into_broker(files, client, self.url, online, anew=pace.anew, told=told)
        if loaded.anew:
            _say("the broker had lost what it had been sent: everything was sent again")
        before = f"; {loaded.before:,} were loaded before" if loaded.before else ""
        _say(f"{loaded.lines:,} quads loaded in {_took(loaded.lines, loaded.seconds)}{before}")

    def _offline(self, files: PartFiles, data: Path) -> None:
        with progress_bar("loading", files.size, "bytes") as told:
            seconds = load_offline(files, data, engine=self.engine, graph=self.graph, told=told)
        _say(f"{files.lines:,} quads loaded into {data} in {_took(files.lines, seconds)}")


def destination_options(command: C) -> C:
    """`--url` or `--data`, `--engine`, `--graph` and the access options, as one argument `destination`."""

    @functools.wraps(command)
    def with_destination(*args: Any, access: Access, **given: Any) -> object:
        chosen = {name: given.pop(name) for name in ("url", "data", "engine", "graph")}
        return command(*args, destination=Destination(**chosen, access=access), **given)

    options = (
        url_option,
        access_options,
        click.option(
            "--data",
            type=click.Path(file_okay=False, path_type=Path),
            help="Load into the directory of a broker that is not running, instead of --url.",
        ),
        click.option(
            "--engine",
            type=click.Choice(["memory", "disk"]),
            help="With --data: the engine that the broker will use.  [as the directory is; memory for a new one]",
        ),
        click.option(
            "--graph",
            metavar="IRI",
            callback=_iri,
            help="The graph for what is in none; else the default graph.",
        ),
    )
    made: C = _with(options, with_destination)
    return made


def pace_options(command: C) -> C:
    """`--chunk-ms`, `--chunk-least`, `--chunk-most`, `--give-up` and `--anew`, as one argument `pace`."""

    @functools.wraps(command)
    def with_pace(*args: Any, chunk_ms: float, chunk_least: int, chunk_most: int, **given: Any) -> object:
        if chunk_least > chunk_most:
            raise click.UsageError("--chunk-least is larger than --chunk-most")
        chunks = ChunkSettings(target_s=chunk_ms / 1000, least_lines=chunk_least, most_lines=chunk_most)
        pace = Pace(chunks, given.pop("give_up"), given.pop("anew"))
        return command(*args, pace=pace, **given)

    options = (
        click.option(
            "--chunk-ms",
            type=click.FloatRange(min=1),
            default=_DEFAULTS.target_s * 1000,
            show_default=True,
            help="How long one chunk may take the broker: others' updates wait so long at most.",
        ),
        click.option(
            "--chunk-least",
            type=click.IntRange(min=1),
            default=_DEFAULTS.least_lines,
            show_default=True,
            help="The smallest chunk, in quads, however slow the broker is.",
        ),
        click.option(
            "--chunk-most",
            type=click.IntRange(min=1),
            default=_DEFAULTS.most_lines,
            show_default=True,
            help="The largest chunk, in quads.",
        ),
        click.option(
            "--give-up",
            type=click.FloatRange(min=0),
            default=OnlineSettings().give_up_s,
            show_default=True,
            metavar="SECONDS",
            help="How long a broker that has gone away is waited for.",
        ),
        click.option(
            "--anew/--resume",
            default=False,
            help="Whether to begin at the beginning, or to go on where the same load was interrupted.  [--resume]",
        ),
    )
    made: C = _with(options, with_pace)
    return made


def spark_options(command: C) -> C:
    """`--master` and `--spark-conf`, as one argument `spark`."""

    @functools.wraps(command)
    def with_spark(*args: Any, master: str | None, spark_conf: tuple[str, ...], **given: Any) -> object:
        if master is None:
            master = "" if _SUBMITTED in os.environ else "local[*]"
        return command(*args, spark=SparkChoice(master, tuple(map(_setting, spark_conf))), **given)

    options = (
        click.option("--master", help="Spark's master.  [local[*]; under spark-submit: what that was told]"),
        click.option("--spark-conf", metavar="KEY=VALUE", multiple=True, help="A setting of Spark's."),
    )
    made: C = _with(options, with_spark)
    return made


def _with(options: tuple[Callable[..., Any], ...], command: Any) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise click.UsageError(f"--spark-conf {text!r} is not like spark.executor.memory=4g")
    return key, value


def _iri(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        try:
            NamedNode(value)
        except ValueError as error:
            raise click.BadParameter(f"{value!r} is no absolute IRI: {error}") from error
    return value


def _took(lines: int, seconds: float) -> str:
    return f"{seconds:.1f} s ({lines / max(seconds, 1e-9):,.0f}/s)"


def _say(text: str) -> None:
    print(text, file=sys.stderr)

"""`triplewire load`: files into a broker, or into the directory of one that is not running."""

from __future__ import annotations

import gzip
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import click
from pyoxigraph import RdfFormat, parse
from rich.console import Console
from rich.progress import Progress

from .addresses import Addresses
from .batches import BATCH_BYTES, Unaddressable, batches
from .cli_common import access_options, url_option
from .settings import ClientSettings
from .sparql import SparqlClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .batches import Batch
    from .cli_common import Access

_URGENCY = 6  # a load lets everybody else's updates go first
EXTENSIONS = ".nt, .nq, .ttl, .trig, .rdf, .jsonld, each also with .gz"


@click.command()
@url_option
@access_options
@click.option(
    "--data", type=click.Path(path_type=Path), help="Load into the directory of a broker that is not running."
)
@click.option(
    "--engine",
    type=click.Choice(["memory", "disk"]),
    help="With --data: the engine that the broker will use.  [as the directory is; memory for a new one]",
)
@click.option(
    "--graph", metavar="IRI", help="The graph for triples that are in none; else the default graph."
)
@click.option("--batch-bytes", default=BATCH_BYTES, show_default=True, help="About the size of one request.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
def load(  # noqa: PLR0913, PLR0917 - one for each option
    url: str,
    data: Path | None,
    engine: str | None,
    graph: str | None,
    batch_bytes: int,
    files: tuple[Path, ...],
    access: Access,
) -> None:
    """Load RDF files: N-Triples, N-Quads, Turtle, TriG, RDF/XML and JSON-LD by their extension, also gzipped.

    A file is sent in batches, one update each: subscribers hear of each batch, and after an error the batches before
    it are there.  Triples that share a blank node go together, at the end of the file.

    With --data a file goes into the directory of a broker that is not running, much faster, as a whole or not at all.
    """
    formats = {file: _format(file) for file in files}
    with _progress(files) as advance:
        if data is not None:
            _offline(formats, data, engine, graph, advance)
        else:
            settings = access.settings(ClientSettings(urgency=_URGENCY))
            authorization = access.authorization(Addresses.of(url))
            with SparqlClient(url, settings=settings, authorization=authorization) as client:
                _online(formats, client, graph, batch_bytes, advance)


def _online(
    formats: dict[Path, RdfFormat],
    client: SparqlClient,
    graph: str | None,
    size: int,
    advance: Callable[[int], None],
) -> None:
    loaded = 0
    for file, format_ in formats.items():
        try:
            with _opened(file, advance) as source:
                quads = parse(source, format_, base_iri=file.resolve().as_uri())
                for batch in batches(quads, graph, size):
                    _send(client, batch)
                    loaded += batch.count
        except (SyntaxError, Unaddressable, EOFError, gzip.BadGzipFile) as error:
            raise click.ClickException(f"{file}: {error}; {loaded} triples were loaded before") from error
    print(f"{loaded} triples loaded", file=sys.stderr)


def _send(client: SparqlClient, batch: Batch) -> None:
    if len(batch.lines) == 1:
        (graph,) = batch.lines
        client.add_to_graph(batch.triples(graph), graph)
    else:
        # Several graphs in one request, because a blank node may be in more than one of them.
        client.update(batch.insert_data())


def _offline(
    formats: dict[Path, RdfFormat],
    data: Path,
    engine: str | None,
    graph: str | None,
    advance: Callable[[int], None],
) -> None:
    # Here, so that the other commands load no engine.
    from triplewire.broker.dataset.offline import OfflineLoad  # noqa: PLC0415

    with OfflineLoad(data, engine) as into:
        for file, format_ in formats.items():
            try:
                with _opened(file, advance) as source:
                    into.load(source, format_, file.resolve().as_uri(), graph)
            except (SyntaxError, EOFError, gzip.BadGzipFile) as error:
                raise click.ClickException(f"{file}: {error}") from error
    print(f"loaded into {data}", file=sys.stderr)


def _format(file: Path) -> RdfFormat:
    name = file.name.removesuffix(".gz")
    format_ = RdfFormat.from_extension(name.rpartition(".")[2]) if "." in name else None
    if format_ is None:
        raise click.UsageError(f"{file}: the extension tells the format; there are {EXTENSIONS}")
    return format_


@contextmanager
def _opened(file: Path, advance: Callable[[int], None]) -> Iterator[IO[bytes]]:
    with file.open("rb") as raw:
        counted = cast("IO[bytes]", _Counted(raw, advance))
        if file.suffix == ".gz":
            with gzip.open(counted) as unpacked:
                yield cast("IO[bytes]", unpacked)
        else:
            yield counted


class _Counted:
    """A file that tells how much of it has been read."""

    def __init__(self, raw: IO[bytes], advance: Callable[[int], None]) -> None:
        self._raw = raw
        self._advance = advance

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self._advance(len(data))
        return data


@contextmanager
def _progress(files: tuple[Path, ...]) -> Iterator[Callable[[int], None]]:
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("loading", total=sum(file.stat().st_size for file in files))
        yield lambda size: progress.advance(task, size)

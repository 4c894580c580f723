"""`triplewire publish`: items into a stream."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

import click

from triplewire.broker.wire.items import ItemError

from .cli_streams import checked_stream, stream_options
from .streams.publisher import StreamPublisher
from .streams.sources import Lines, Whole, WireItems

if TYPE_CHECKING:
    from triplewire.broker.wire.items import Item

    from .cli_streams import StreamAccess
    from .streams.sources import Source

_PIECE = 256 * 1024


@click.command()
@stream_options
@click.option("--json", "as_json", is_flag=True, help="Send JSON; without it, items as they are.")
@click.option("--compressed", is_flag=True, help="Send gzip.")
@click.option("--syntax", metavar="TYPE", help="FILE is no items but one body, of this media type.")
@click.option("--source", metavar="ID", help="With --syntax: the Source-Id.")
@click.option("--type", "event_type", metavar="TYPE", help="With --syntax: the Event-Type.")
@click.option("--application", metavar="ID", help="With --syntax: the Application-Id.")
@click.option("--lines", is_flag=True, help="With --syntax: each line is a body, sent as it comes.")
@click.argument("stream_url", callback=checked_stream)
@click.argument("file", type=click.File("rb"), default="-")
def publish(
    stream_url: str,
    file: IO[bytes],
    *,
    access: StreamAccess,
    as_json: bool,
    compressed: bool,
    **given: Any,
) -> None:
    """Publish items to a stream, from FILE or standard input, as they come.

    FILE has items as they are on the wire.  With --syntax and --source it has a body (or one a line, with --lines), and
    its items get an id of their own and the time.
    """
    source = _source(**given)
    count = 0
    with StreamPublisher(
        stream_url,
        settings=access.settings,
        authorization=access.authorization,
        as_json=as_json,
        compressed=compressed,
    ) as publisher:
        try:
            # What has come, however little: a pipe may be slow.
            while data := file.read1(_PIECE):  # type: ignore[attr-defined]
                count += _published(publisher, source.feed(data))
            count += _published(publisher, source.finish())
        except ItemError as error:
            raise click.ClickException(
                f"{file.name}: {error}; {count} items were published before"
            ) from error
    print(f"{count} items published", file=sys.stderr)


def _published(publisher: StreamPublisher, items: list[Item]) -> int:
    if items:
        publisher.publish(*items)
    return len(items)


def _source(
    syntax: str | None, source: str | None, event_type: str | None, application: str | None, *, lines: bool
) -> Source:
    if syntax is None:
        if source is not None or event_type is not None or application is not None or lines:
            raise click.UsageError("--source, --type, --application and --lines need --syntax")
        return WireItems()
    if source is None:
        raise click.UsageError("--syntax needs --source")
    kind = Lines if lines else Whole
    try:
        return kind(source, syntax, application_id=application, event_type=event_type)
    except ItemError as error:
        raise click.UsageError(str(error)) from error

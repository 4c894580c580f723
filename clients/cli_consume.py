"""`triplewire consume`: the items of a stream, as they come."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit, urlunsplit

import click

from triplewire.broker.wire.item_json import encode_lines
from triplewire.broker.wire.items import encode_item

from .cli_common import is_terminal
from .cli_streams import checked_stream, checked_streams, say_gap, say_lost, stream_options, until_told
from .prefixes import escaped
from .streams.addresses import followed_url
from .streams.consumer import AsyncStreamConsumer
from .streams.filters import filters_of

if TYPE_CHECKING:
    from triplewire.broker.wire.items import Item

    from .cli_streams import StreamAccess


def _filters(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> list[tuple[str, str]]:
    pairs = [(name, value) for name, _, value in (text.partition("=") for text in given)]
    try:
        filters_of(pairs)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return pairs


@click.command()
@stream_options
@click.option("--last-seen", metavar="ID", help="Begin behind the item of this id.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, writable=True),
    help="A file where the last item's id is kept; begin behind it.",
)
@click.option(
    "--filter",
    "filters",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_filters,
    help="source, application, event-type, vocabulary (an IRI's beginning), triple (as `* <http://p> ?v`) or ask (SPARQL).",
)
@click.option("--filter-here", is_flag=True, help="Don't let the server filter, which not every server does.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["items", "ldjson", "bodies"]),
    default="items",
    show_default=True,
    help="What is printed of an item.",
)
@click.option("--count", type=click.IntRange(1), metavar="N", help="End after N items.")
@click.option("--region", default="", help="Where we are: a tracker chooses a relay that is near.")
@click.argument("stream_url", callback=checked_stream)
@click.argument("others", metavar="[OTHER_URL]...", nargs=-1, callback=checked_streams)
def consume(  # noqa: PLR0913 - one for each option
    stream_url: str,
    others: tuple[str, ...],
    *,
    access: StreamAccess,
    last_seen: str | None,
    state: str | None,
    filters: list[tuple[str, str]],
    filter_here: bool,
    form: str,
    count: int | None,
    region: str,
) -> None:
    """Follow a stream: print its items as they come.

    The URL is a stream's, or a tracker's (/consume/NAME), which sends us to one of its relays.  A lost connection is
    opened again, at another relay or one of the other URLs where that one is gone, and goes on behind the last item.  Of
    filters of one name any may pass, of different names all must.  Ctrl-C (or SIGTERM) ends with 0.
    """
    urls = [stream_url, *others]
    if filters and not filter_here:
        urls = [_with_parameters(url, filters) for url in urls]
    consumer = AsyncStreamConsumer(
        *urls,
        settings=replace(access.settings, region=region),
        authorization=access.authorization,
        last_seen=last_seen,
        state=state,
        filters=filters_of(filters),
        on_gap=say_gap,
        on_disconnect=say_lost,
    )
    until_told(_print(consumer, form, count))


def _with_parameters(url: str, parameters: list[tuple[str, str]]) -> str:
    parts = urlsplit(followed_url(url))
    query = "&".join(filter(None, (parts.query, urlencode(parameters))))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


async def _print(consumer: AsyncStreamConsumer, form: str, count: int | None) -> None:
    left = count
    for_people = is_terminal()
    async with consumer:
        async for item in consumer:
            _put(_printed(item, form), for_people=for_people)
            left = None if left is None else left - 1
            if left == 0:
                consumer.done()
                return


def _printed(item: Item, form: str) -> bytes:
    match form:
        case "items":
            return encode_item(item)
        case "ldjson":
            return encode_lines([item])
        case _:
            return item.body + b"\n"


def _put(data: bytes, *, for_people: bool) -> None:
    if for_people:
        # A terminal obeys control characters: whoever wrote the item must not steer it.
        lines = data.decode(errors="replace").replace("\r\n", "\n").split("\n")
        text = "\n".join(map(escaped, lines))
        print(text, end="" if text.endswith("\n") else "\n", flush=True)
        return
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

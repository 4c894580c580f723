"""`triplewire relay`: what comes in one stream is published to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .cli_streams import checked_stream, say_gap, say_lost, stream_options, until_told
from .streams import relaying
from .streams.addresses import followed_url
from .streams.consumer import AsyncStreamConsumer
from .streams.publisher import AsyncStreamPublisher

if TYPE_CHECKING:
    from .cli_streams import StreamAccess
    from .streams.settings import StreamSettings


@click.command()
@stream_options
@click.option(
    "--state",
    type=click.Path(dir_okay=False, writable=True),
    help="A file where the last item's id is kept; begin behind it.",
)
@click.argument("from_url", callback=checked_stream)
@click.argument("to_url", callback=checked_stream)
def relay(from_url: str, to_url: str, *, access: StreamAccess, state: str | None) -> None:
    """Publish to a stream what comes in another one, at once (from /priority), with its ids.

    Items come before they are kept as the last, so none is lost; the servers pass over those that were there.  A token
    is for both servers.  Ctrl-C (or SIGTERM) ends with 0.
    """
    settings = access.settings
    consumer = AsyncStreamConsumer(
        followed_url(from_url, "priority"),
        settings=settings,
        authorization=access.authorization,
        state=state,
        compressed=False,
        commands=True,
        on_gap=say_gap,
        on_disconnect=say_lost,
    )
    publisher = AsyncStreamPublisher(to_url, settings=settings, authorization=access.authorization)
    until_told(_relay(consumer, publisher, settings))


async def _relay(
    consumer: AsyncStreamConsumer, publisher: AsyncStreamPublisher, settings: StreamSettings
) -> None:
    async with consumer, publisher:
        await relaying.relay(consumer, publisher, settings, say_lost)

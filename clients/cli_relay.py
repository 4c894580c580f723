"""`triplewire relay`: what comes in one stream is published to another; or streams are served together with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import cli_relay_overlay
from .cli_relay_overlay import overlay_options
from .cli_streams import checked_stream, say_gap, say_lost, stream_options, until_told
from .streams import relaying
from .streams.addresses import followed_url
from .streams.consumer import AsyncStreamConsumer
from .streams.publisher import AsyncStreamPublisher

if TYPE_CHECKING:
    from .cli_relay_overlay import Overlay
    from .cli_streams import StreamAccess
    from .streams.settings import StreamSettings


@click.command()
@stream_options
@click.option(
    "--state",
    type=click.Path(dir_okay=False, writable=True),
    help="With FROM_URL: a file where the last item's id is kept; begin behind it.",
)
@overlay_options
@click.argument("from_url", required=False, callback=checked_stream)
@click.argument("to_url", required=False, callback=checked_stream)
def relay(
    from_url: str | None, to_url: str | None, *, access: StreamAccess, state: str | None, overlay: Overlay
) -> None:
    """Publish to a stream what comes in another one, or serve streams together with others.

    With FROM_URL and TO_URL items go over at once (from /priority), with their ids.  They come before they are kept as
    the last, so none is lost; the servers pass over those that were there.  A token is for both servers.

    With --tracker and --stream this process has the streams of others, for consumers near here, and what is published
    here goes to the others.  An --identity is known to the broker at --url, and shown to the trackers.

    Ctrl-C (or SIGTERM) ends with 0.
    """
    if from_url is None or to_url is None:
        if from_url is not None or state is not None or not overlay:
            raise click.UsageError("give FROM_URL and TO_URL, or --tracker and --stream")
        cli_relay_overlay.run(overlay, access)
    elif overlay:
        raise click.UsageError("FROM_URL and TO_URL exclude the options of an overlay: --tracker and so on")
    else:
        _between(from_url, to_url, access, state)


def _between(from_url: str, to_url: str, access: StreamAccess, state: str | None) -> None:
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

"""What the commands about streams share: `publish`, `consume` and `relay`."""

from __future__ import annotations

import asyncio
import functools
import signal
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from triplewire.broker.wire.gap_items import ANY_CHAIN

from .addresses import Addresses
from .cli_common import DEFAULT_URL, Access, access_options, checked_url
from .prefixes import escaped
from .streams.addresses import published_url
from .streams.settings import StreamSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from triplewire.broker.errors import ClientError

    from .authorization import Authorization
    from .streams.following import Gap

C = TypeVar("C", bound="Callable[..., object]")
U = TypeVar("U", bound="str | None")
_LAST_MOMENT: Final = 253_402_300_799  # the end of the year 9999


@dataclass(frozen=True, slots=True)
class StreamAccess:
    """How a command proves who asks, and whom it believes: the options of `stream_options`."""

    access: Access = field(repr=False)
    broker_url: str

    @property
    def settings(self) -> StreamSettings:
        """The client's settings, with what was said of certificates."""
        return StreamSettings(ca_file=self.access.ca_file, verify=not self.access.insecure)

    @property
    def authorization(self) -> Authorization | None:
        """Where tokens come from; None for none."""
        return self.access.authorization(Addresses.of(self.broker_url))


def stream_options(command: C) -> C:
    """`access_options` and `--url`, as one argument `access`.

    A stream's URL does not tell where its broker's HTTP port is.
    """

    @functools.wraps(command)
    def with_access(*args: Any, access: Access, broker_url: str, **given: Any) -> object:
        return command(*args, access=StreamAccess(access, broker_url), **given)

    broker_option = click.option(
        "--url",
        "broker_url",
        envvar="TRIPLEWIRE_URL",
        default=DEFAULT_URL,
        show_default=True,
        show_envvar=True,
        callback=checked_url,
        help="With --identity: the broker that gives the tokens.",
    )
    made: Any = access_options(broker_option(with_access))
    options: C = made
    return options


def checked_stream(_: click.Context, __: click.Parameter, url: U) -> U:
    """An argument's value, where it is a stream's URL, or was not given."""
    try:
        if url is not None:
            published_url(url)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return url


def checked_streams(
    context: click.Context, parameter: click.Parameter, urls: tuple[str, ...]
) -> tuple[str, ...]:
    """The same of several."""
    return tuple(checked_stream(context, parameter, url) for url in urls)


def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Do it, until it ends or Ctrl-C or SIGTERM ends it."""

    async def cancelable() -> None:
        main = asyncio.current_task()
        assert main is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, main.cancel)
        try:
            await work
        except asyncio.CancelledError:
            return  # Ctrl-C or SIGTERM, which is how these commands are meant to end

    asyncio.run(cancelable())


def say_lost(error: ClientError | None) -> None:
    """That a connection is lost, None where the stream has ended, and is opened again."""
    print(f"triplewire: {error or 'the stream has ended'}; connecting again", file=sys.stderr)


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(min(seconds, _LAST_MOMENT), UTC).isoformat()


def say_gap(gap: Gap) -> None:
    """That items may be missing, or surely are."""
    if gap.missing is not None:
        chain, publisher, first, last = gap.missing
        if chain == ANY_CHAIN:
            between = f"{_moment(first)} and {_moment(last)}"
            print(f"triplewire: items may be missing that were published between {between}", file=sys.stderr)
            return
        count, of = last - first + 1, f" of {escaped(publisher)}" if publisher else ""
        which = f"{first} to {last}" if first < last else str(first)
        print(
            f"triplewire: {count} {'items are' if count > 1 else 'item is'} missing: {which} of the chain"
            f" {escaped(chain)}{of}",
            file=sys.stderr,
        )
        return
    print(
        f"triplewire: items may be missing between {escaped(gap.last_seen)} and {escaped(gap.first.event_id)}",
        file=sys.stderr,
    )

"""`triplewire subscribe`: rows as they come, until told to stop."""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from triplewire.broker.model import Query

from .addresses import Addresses, socket_url
from .application import Application
from .async_subscriber import AsyncSubscriber
from .cli_common import (
    DEFAULT_URL,
    Access,
    access_options,
    dataset_options,
    is_terminal,
    sparql_arguments,
    sparql_text,
)
from .prefixes import Prefixes
from .printer import Printer

if TYPE_CHECKING:
    from .authorization import Authorization
    from .settings import ClientSettings


@dataclass(frozen=True, slots=True)
class Given:
    """The options and arguments that say what to follow, and where."""

    url: str
    profile: str | None
    query_id: str | None
    values: dict[str, str]
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    sparql: str | None
    file: IO[str] | None
    access: Access

    def wanted(self, *, own_url: bool) -> Wanted:
        """What they mean; a profile's URL counts unless another was given.

        Raises:
            click.UsageError: they do not go together.
        """
        if self.profile is None:
            if self.query_id is not None or self.values:
                raise click.UsageError("--id and --bind need --jsap")
            query = Query(sparql_text(self.sparql, self.file), self.default_graphs, self.named_graphs)
            authorization = self.access.authorization(Addresses.of(_http(self.url)))
            return Wanted(query, socket_url(self.url), self.access.settings(), authorization)
        if self.query_id is None or self.sparql is not None or self.file is not None:
            raise click.UsageError("with --jsap, --id names the query, and no SPARQL is given")
        application = Application(self.profile)
        to = application.subscription(self.query_id, self.values)
        settings = self.access.settings(application.settings(None))
        authorization = application.authorization(self.access.bearer(), self.access.identity, settings)
        url = socket_url(self.url) if own_url else to.url
        return Wanted(to.operation, url, settings, authorization)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to follow, where, and how."""

    query: Query
    url: str
    settings: ClientSettings
    authorization: Authorization | None


def _url(_: click.Context, __: click.Parameter, url: str) -> str:
    try:
        socket_url(url)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return url


def _http(url: str) -> str:
    """Where tokens for a WebSocket URL come from: the same host and port, where a broker's HTTP port serves both."""
    if not url.startswith("ws"):
        return url
    parts = urlsplit(url)
    return f"{'https' if parts.scheme == 'wss' else 'http'}://{parts.netloc}"


def _bindings(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    bindings = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not var=value")
        bindings[name.lstrip("?$")] = value
    return bindings


@click.command()
@click.option(
    "--url",
    envvar="TRIPLEWIRE_URL",
    default=DEFAULT_URL,
    show_default=True,
    show_envvar=True,
    callback=_url,
    help="The broker, or the WebSocket URL to subscribe at.",
)
@access_options
@click.option(
    "--jsap", "profile", type=click.Path(exists=True, dir_okay=False), help="A profile, and its own URLs."
)
@click.option("--id", "query_id", help="The query of the profile.")
@click.option(
    "--bind", "values", metavar="VAR=VALUE", multiple=True, callback=_bindings, help="A forced binding."
)
@click.option("--alias", help="A name for it, for the broker's log.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print notifications as the protocol has them, one per line."
)
@click.option(
    "--count", type=click.IntRange(0), metavar="N", help="End after N notifications; first results are none."
)
@dataset_options
@sparql_arguments
@click.pass_context
def subscribe(
    context: click.Context, /, *, alias: str | None, as_json: bool, count: int | None, **given: Any
) -> None:
    """Follow the answer to a query: rows that come into it with +, rows that leave it with -.

    The first line has the variables, then come the rows of the first results.  Columns are separated by tabs, terms
    are written as in SPARQL.  A lost connection is opened again, and only what has changed meanwhile is printed.

    Ctrl-C (or SIGTERM) unsubscribes and ends with 0.
    """
    own_url = context.get_parameter_source("url") is not ParameterSource.DEFAULT
    wanted = Given(**given).wanted(own_url=own_url)
    prefixes = Prefixes.of(wanted.query.sparql) if is_terminal() and not as_json else None
    asyncio.run(_follow(wanted, alias, Printer(sys.stdout, prefixes, as_json=as_json, count=count)))


async def _follow(wanted: Wanted, alias: str | None, printer: Printer) -> None:
    main = asyncio.current_task()
    assert main is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, main.cancel)
    subscriber = AsyncSubscriber(
        wanted.url,
        settings=wanted.settings,
        authorization=wanted.authorization,
        on_disconnect=_say_lost,
        on_reconnect=_say_connected,
    )
    try:
        async with subscriber:
            live = await subscriber.follow(wanted.query, alias, printer)
            try:
                await printer.stopped.wait()
            finally:
                main.uncancel()
                await subscriber.unsubscribe(live)
    except asyncio.CancelledError:
        return  # Ctrl-C or SIGTERM, which is how this command is meant to end
    if printer.error is not None:
        raise printer.error


def _say_lost(error: Exception) -> None:
    print(f"triplewire: {error}; connecting again", file=sys.stderr)


def _say_connected(_: None) -> None:
    print("triplewire: connected again", file=sys.stderr)

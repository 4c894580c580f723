"""`triplewire top`: how a broker is, again and again."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

import click

from triplewire.broker.errors import BrokerRefused, ConnectionLost

from .addresses import Addresses
from .cli_common import access_options, is_terminal, url_option
from .prefixes import escaped
from .settings import ClientSettings
from .top import Between, MetricsClient
from .top_view import lines

if TYPE_CHECKING:
    from .cli_common import Access
    from .top import Reading

# What a terminal is told: another screen and no cursor, the way back, the first line, the rest of a line, and of all.
_BEGIN, _END = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"


@click.command()
@url_option
@access_options
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1, max=3600),
    default=2.0,
    show_default=True,
    help="Seconds between two readings.",
)
@click.option("--once", is_flag=True, help="Show one interval, and end.")
def top(url: str, interval: float, once: bool, access: Access) -> None:
    """Show what a broker does: rates, how long things take, its queue, subscriptions, journal and streams.

    The figures are those of /metrics: where security is enabled, the scope admin is needed.  Ctrl-C ends it.
    """
    authorization = access.authorization(Addresses.of(url))
    # What comes too late is asked for again anyway.
    settings = access.settings(ClientSettings(timeout_s=10.0, retries=0))
    client = MetricsClient(url, settings=settings, authorization=authorization)
    try:
        before = _read(client)
        if once:
            time.sleep(interval)
            print("\n".join(lines(Between(before, _read(client)), url)))
        else:
            _watch(client, before, url, interval)
    finally:
        client.close()


def _watch(client: MetricsClient, before: Reading, url: str, interval: float) -> None:
    """Until Ctrl-C; a broker that has gone may come back."""
    on_screen = is_terminal()
    show = _draw if on_screen else _print
    if on_screen:
        sys.stdout.write(_BEGIN)
    try:
        shown: list[str] = [f"reading {escaped(url)} every {interval:g} s"]
        show(shown)
        while True:
            time.sleep(interval)
            try:
                now = _read(client)
            except ConnectionLost as error:
                show([f"{escaped(str(error))}; trying again", "", *(shown if on_screen else [])])
                continue
            shown = list(lines(Between(before, now), url))
            before = now
            show(shown)
    finally:
        if on_screen:
            sys.stdout.write(_END)
            sys.stdout.flush()


def _read(client: MetricsClient) -> Reading:
    try:
        return client.read()
    except BrokerRefused as error:
        if error.status in {401, 403}:
            hint = "the metrics are for clients with the scope admin: see --identity and --token-file"
            raise click.ClickException(f"{error}; {hint}") from error
        raise


def _draw(shown: list[str]) -> None:
    """On the whole screen, as much of it as there is room for."""
    width, height = shutil.get_terminal_size()
    fitting = [line[:width] + _REST_OF_LINE for line in shown[:height]]
    sys.stdout.write(_HOME + "\r\n".join(fitting) + _REST)
    sys.stdout.flush()


def _print(shown: list[str]) -> None:
    print("\n".join([*shown, ""]), flush=True)

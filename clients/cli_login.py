"""`triplewire register`, `login` and `logout`: an identity at a broker, and its tokens."""

from __future__ import annotations

import math
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from .addresses import Addresses
from .cli_common import login_options, url_option

if TYPE_CHECKING:
    from .authorization import Token
    from .cli_common import Access


@click.command()
@url_option
@login_options
def register(url: str, access: Access) -> None:
    """Register an identity at a broker.

    Its secret is kept in credentials.json under ~/.config/triplewire (or $XDG_CONFIG_HOME/triplewire), which nobody
    else can read, and is never shown.  Most brokers register an identity once.
    """
    client_id = access.credentials(Addresses.of(url)).register()
    print(f"{access.identity} is registered at {url}, as client {client_id}", file=sys.stderr)


@click.command()
@url_option
@login_options
@click.option("--show", is_flag=True, help="Print the token; whoever has it can do what you can.")
def login(url: str, access: Access, *, show: bool) -> None:
    """Have a token, and keep it for the other commands; an identity that is not known yet is registered.

    The commands with --identity log in by themselves when they need to.
    """
    token = access.credentials(Addresses.of(url)).token()
    print(f"{access.identity} has a token at {url}, {_until(token)}", file=sys.stderr)
    if show:
        print(token.text)


@click.group()
def token() -> None:
    """An identity at a broker and its token, for scripts."""


token.add_command(register)


@token.command()
@url_option
@login_options
def get(url: str, access: Access) -> None:
    """Print a token that is good now, alone on a line; as `login --show`."""
    print(access.credentials(Addresses.of(url)).token().text)


@click.command()
@url_option
@login_options
@click.option("--forget", is_flag=True, help="Forget the secret, too, and ask the broker nothing.")
def logout(url: str, access: Access, *, forget: bool) -> None:
    """Revoke the token and forget it.  The secret is kept, so that login works again."""
    at = Addresses.of(url)
    credentials = access.credentials(at)
    done = credentials.forget() if forget else credentials.revoke(at.revoke)
    print(f"{access.identity} {_OUTCOMES[forget, done]} at {url}", file=sys.stderr)


_OUTCOMES = {
    (False, True): "has no token any more",
    (False, False): "had no token",
    (True, True): "is forgotten",
    (True, False): "was not known",
}


def _until(token: Token) -> str:
    if math.isinf(token.expires_at):
        return "good until it is revoked"
    left_s = token.expires_at - time.monotonic()
    end = datetime.fromtimestamp(time.time() + left_s, UTC).astimezone()
    return f"good until {end.isoformat(sep=' ', timespec='seconds')} ({left_s:.0f} s)"

"""The command lines of the example applications: which profile, which broker instead of the profile's, and how to end.

A profile says where its broker is.  `--url` and `--ws` say it for one run, so that the shipped profiles need no editing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from triplewire.broker.errors import ClientError, ConnectionLost, ProfileError
from triplewire.clients.addresses import Addresses, socket_url

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

C = TypeVar("C", bound="Callable[..., object]")

FAILED, USAGE, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def broker_options(command: C) -> C:
    """`--jsap`, `--url` and `--ws`."""
    command = click.option(
        "--ws", metavar="URL", help="Where to subscribe; without it the profile's address, or that of --url."
    )(command)
    command = click.option(
        "--url", envvar="TRIPLEWIRE_URL", metavar="URL", help="The broker, instead of the profile's."
    )(command)
    return click.option(
        "--jsap",
        type=click.Path(exists=True, dir_okay=False),
        help="A profile of yours, instead of the shipped one.",
    )(command)


def overrides(url: str | None, ws: str | None = None) -> dict[str, object]:
    """What a profile must be loaded with so that its broker is the one at `url` and, to subscribe, at `ws`.

    Raises:
        ValueError: they are not addresses of a broker.
    """
    found: dict[str, object] = {}
    if url is not None:
        at = Addresses.of(url)
        found["sparql11protocol"] = {**endpoint(at.query, "query"), **endpoint(at.update, "update")}
        ws = ws or at.subscribe
    if ws is not None:
        parts = urlsplit(socket_url(ws))
        found["sparql11seprotocol"] = {
            "host": parts.hostname,
            "protocol": parts.scheme,
            "availableProtocols": {
                parts.scheme: {"port": parts.port or _PORTS[parts.scheme], "path": parts.path}
            },
        }
    return found


def endpoint(url: str, operation: str) -> dict[str, Any]:
    """A `sparql11protocol` member for one URL; `operation` is "query" or "update".

    Raises:
        ValueError: it is not an http or https URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"an endpoint's URL starts with http:// or https:// and a host; {url!r} does not")
    return {
        "protocol": parts.scheme,
        "host": parts.hostname,
        "port": parts.port or _PORTS[parts.scheme],
        operation: {"path": parts.path or "/"},
    }


def until_stopped(work: Coroutine[Any, Any, int]) -> int:
    """Run `work` until it ends, or is cancelled by SIGINT or SIGTERM, which is a good end; its exit code."""
    return asyncio.run(_until_stopped(work))


async def _until_stopped(work: Coroutine[Any, Any, int]) -> int:
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C raises KeyboardInterrupt instead
            loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return 0


def run(command: click.Command, name: str) -> int:
    """Run a command with the arguments of this process; its exit code, errors being one line on standard error."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        result = command.main(prog_name=name, standalone_mode=False)
    except click.UsageError as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except ConnectionLost as error:
        return _failed(name, error, UNREACHABLE)
    except (ClientError, ProfileError, ImportError, ValueError, OSError) as error:
        return _failed(name, error, FAILED)
    return result if isinstance(result, int) else 0


def _failed(name: str, error: Exception, code: int) -> int:
    print(f"{name}: {' '.join(str(error).split())}", file=sys.stderr)
    return code

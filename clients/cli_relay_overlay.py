"""`triplewire relay --tracker URL --stream S`: a process that serves streams of others, found by a tracker."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from .cli_streams import StreamAccess

C = TypeVar("C", bound="Callable[..., object]")


@dataclass(frozen=True, slots=True)
class Overlay:
    """What was said of the overlay: the options of `overlay_options`."""

    trackers: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    node: str | None = None
    region: str | None = None
    host: str | None = None
    stream_port: int | None = None
    link_port: int | None = None
    streams_at: str | None = None
    links_at: str | None = None
    secure: bool = False
    config_path: Path | None = None
    settings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Overlay()

    def overrides(self, access: StreamAccess) -> list[str]:
        """The same as settings; `access` is how this process is known to the trackers.

        Raises:
            click.UsageError: it can't be known so.
        """
        given = {
            "relay.trackers": ",".join(self.trackers) or None,
            "relay.node": self.node,
            "relay.region": self.region,
            "relay.host": self.host,
            # With tokens the streams are for the network over TLS only
            "stream.host": None if self.secure else self.host,
            "tls.host": self.host,
            "stream.port": self.stream_port,
            "relay.port": self.link_port,
            "relay.streams_at": self.streams_at,
            "relay.links_at": self.links_at,
            "security.enabled": "true" if self.secure else None,
            **_identity(access),
            **{f"streams.{stream}.overlay": "true" for stream in self.streams},
        }
        return [
            *(f"{path}={value}" for path, value in given.items() if value is not None),
            *self.settings,
        ]


def overlay_options(command: C) -> C:
    """All of them, as one argument `overlay`."""

    @functools.wraps(command)
    def with_overlay(*args: Any, **given: Any) -> object:
        overlay = Overlay(**{name: given.pop(name) for name in Overlay.__slots__})
        return command(*args, overlay=overlay, **given)

    made: Any = with_overlay
    for option in reversed(_OPTIONS):
        made = option(made)
    options: C = made
    return options


def run(overlay: Overlay, access: StreamAccess) -> None:
    """Serve until told to stop."""
    # Here, so that the other commands load nothing of it.
    from triplewire.broker import config, relaying  # noqa: PLC0415

    relaying.run(config.load(path=overlay.config_path, overrides=overlay.overrides(access)))


def _identity(access: StreamAccess) -> dict[str, str | None]:
    who = access.access
    if who.token is not None or who.insecure:
        raise click.UsageError(
            "--token and --insecure are for FROM_URL and TO_URL; trackers know an --identity"
        )
    return {
        "relay.identity": who.identity,
        "relay.login": access.broker_url if who.identity else None,
        "relay.ca": who.ca_file,
    }


_OPTIONS = (
    click.option(
        "--tracker", "trackers", metavar="URL", multiple=True, help="Who knows the others; several: in order."
    ),
    click.option("--stream", "streams", metavar="NAME", multiple=True, help="A stream that the others have."),
    click.option("--node", metavar="ID", help="Its name among the others.  [a new one]"),
    click.option("--region", metavar="NAME", help="Where it is: delays within a region are short."),
    click.option("--host", help="Listen at this address; with --secure over TLS only.  [127.0.0.1]"),
    click.option("--stream-port", type=int, help="For consumers; 0 is any free one.  [8001]"),
    click.option("--link-port", type=int, help="For the others; 0 is any free one.  [8002]"),
    click.option(
        "--streams-at", metavar="URL", help="Where consumers are sent, if it is not where it listens."
    ),
    click.option(
        "--links-at", metavar="URL", help="Where the others find it, if it is not where it listens."
    ),
    click.option("--secure", is_flag=True, help="Nobody follows or publishes without a token."),
    click.option(
        "--config", "config_path", type=click.Path(path_type=Path), help="A configuration file (TOML)."
    ),
    click.option("--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Any one setting."),
)

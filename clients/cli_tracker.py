"""`triplewire tracker`: how the nodes that serve a stream find each other."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--config", "config_path", type=click.Path(path_type=Path), help="A configuration file (TOML).")
@click.option("--host", help="Listen at this address.  [127.0.0.1]")
@click.option("--port", type=int, help="The port; 0 is any free one.  [8003]")
@click.option("--data", metavar="DIR", help="Keep the key that signs tickets in this directory.")
@click.option("--secure", is_flag=True, help="Nobody is a node, or sent to one, without a token.")
@click.option("--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Any one setting.")
def tracker(  # noqa: PLR0913 - one for each option
    config_path: Path | None,
    host: str | None,
    port: int | None,
    data: str | None,
    *,
    secure: bool,
    settings: tuple[str, ...],
) -> None:
    """Run a tracker until it is told to stop (SIGTERM, Ctrl-C).

    It arranges the nodes that serve a stream (`triplewire serve`, `triplewire relay`) so that each passes items on to few
    others, and sends consumers to the best of them.
    """
    given = {
        "tracker.host": host,
        "tracker.port": port,
        "tracker.data": data,
        "security.enabled": "true" if secure else None,
    }
    overrides = [f"{path}={value}" for path, value in given.items() if value is not None]
    # Here, so that the other commands load no server.
    from triplewire.broker import config  # noqa: PLC0415
    from triplewire.broker.tracker import run  # noqa: PLC0415

    run(config.load(path=config_path, overrides=[*overrides, *settings]))

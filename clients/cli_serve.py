"""`triplewire serve`: the one command that starts a broker rather than talking to one."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--config", "config_path", type=click.Path(path_type=Path), help="A configuration file (TOML).")
@click.option("--data", metavar="DIR", help="Keep the dataset in this directory.")
@click.option("--follow", metavar="URL", help="Have the dataset of another broker, and follow its changes.")
@click.option("--memory", is_flag=True, help="Keep the dataset in memory only.")
@click.option("--host", help="Listen at this address on every port.  [127.0.0.1]")
@click.option("--http-port", type=int, help="The HTTP port; 0 is any free one.  [8000]")
@click.option("--ws-port", type=int, help="The WebSocket port; 0 is any free one.  [9000]")
@click.option("--engine-jpar", type=click.Path(path_type=Path), help="A SEPA engine's settings.")
@click.option(
    "--endpoint-jpar", type=click.Path(path_type=Path), help="The SPARQL endpoint behind a SEPA engine."
)
@click.option(
    "--repair", is_flag=True, help="Where the journal is damaged, go on without that part; it is set aside."
)
@click.option("--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Any one setting.")
def serve(  # noqa: PLR0913 - one for each option
    config_path: Path | None,
    data: str | None,
    follow: str | None,
    *,
    memory: bool,
    host: str | None,
    http_port: int | None,
    ws_port: int | None,
    engine_jpar: Path | None,
    endpoint_jpar: Path | None,
    repair: bool,
    settings: tuple[str, ...],
) -> None:
    """Run a broker until it is told to stop (SIGTERM, Ctrl-C)."""
    if memory and data is not None:
        raise click.UsageError("--data and --memory exclude each other")
    given = {
        "http.host": host,
        "websocket.host": host,
        "http.port": http_port,
        "websocket.port": ws_port,
        "store.data": "" if memory else data,
        "follow.url": follow,
    }
    overrides = [f"{path}={value}" for path, value in given.items() if value is not None]
    # Here, so that the other commands load no engine.
    from triplewire.broker import app, config  # noqa: PLC0415

    app.run(
        config.load(
            path=config_path,
            overrides=[*overrides, *settings],
            engine_jpar=engine_jpar,
            endpoint_jpar=endpoint_jpar,
        ),
        repair=repair,
    )

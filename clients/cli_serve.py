"""`triplewire serve`: the one command that starts a broker rather than talking to one."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--config", "config_path", type=click.Path(path_type=Path), help="A configuration file (TOML).")
@click.option("--data", metavar="DIR", help="Keep the dataset in this directory.")
@click.option("--follow", metavar="URL", help="Have the dataset of another broker, and follow its changes.")
@click.option("--memory", is_flag=True, help="Keep the dataset in memory only.")
@click.option("--secure", is_flag=True, help="Nobody reads, writes or listens without a token.")
@click.option("--host", help="Listen at this address; with --secure on the TLS ports only.  [127.0.0.1]")
@click.option("--http-port", type=int, help="The HTTP port; 0 is any free one.  [8000]")
@click.option("--ws-port", type=int, help="The WebSocket port; 0 is any free one.  [9000]")
@click.option("--stream-port", type=int, help="The stream port; 0 is any free one.  [8001]")
@click.option(
    "--stream-workers", type=int, help="Processes that share the stream port.  [0: the broker's own]"
)
@click.option("--https-port", type=int, help="The HTTPS port, once there is a certificate.  [8443]")
@click.option("--wss-port", type=int, help="The port of WebSockets over TLS.  [9443]")
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
    secure: bool,
    host: str | None,
    http_port: int | None,
    ws_port: int | None,
    stream_port: int | None,
    stream_workers: int | None,
    https_port: int | None,
    wss_port: int | None,
    engine_jpar: Path | None,
    endpoint_jpar: Path | None,
    repair: bool,
    settings: tuple[str, ...],
) -> None:
    """Run a broker until it is told to stop (SIGTERM, Ctrl-C)."""
    if memory and data is not None:
        raise click.UsageError("--data and --memory exclude each other")
    given = {
        "http.host": None if secure else host,
        "websocket.host": None if secure else host,
        "stream.host": None if secure else host,
        "tls.host": host,
        "tls.https_port": https_port,
        "tls.wss_port": wss_port,
        "security.enabled": "true" if secure else None,
        "http.port": http_port,
        "websocket.port": ws_port,
        "stream.port": stream_port,
        "stream.workers": stream_workers,
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

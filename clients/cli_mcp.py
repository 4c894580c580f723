"""`triplewire mcp`: a broker as tools of a language model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from .addresses import Addresses
from .application import Application
from .cli_common import access_options, checked_url, url_option

if TYPE_CHECKING:
    from .cli_common import Access
    from .mcp.server import BrokerServer

_OURS = frozenset({"mcp", "mcp_types", "jsonschema"})  # what the extra brings


@click.command()
@url_option
@access_options
@click.option(
    "--jsap",
    "profile",
    type=click.Path(exists=True, dir_okay=False),
    help="A profile: its queries and updates become tools; and its own URLs.",
)
@click.option(
    "--streams-url",
    callback=lambda *given: given[2] and checked_url(*given),
    help="The broker's stream port.  [its host, 8001]",
)
@click.option("--read-only", is_flag=True, help="No tool that changes anything, whatever the token may do.")
@click.option("--transport", type=click.Choice(["stdio", "http"]), default="stdio", show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="With http: listen at this address.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 is any free one."
)
@click.option(
    "--allow-host", "hosts", metavar="HOST", multiple=True, help="With http: another Host header to answer."
)
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="With http: an Origin header to answer.",
)
@click.option("--set", "limits", metavar="NAME=VALUE", multiple=True, help="A limit, as rows=500.")
@click.pass_context
def mcp(  # noqa: PLR0913 - one for each option
    context: click.Context,
    /,
    *,
    url: str,
    access: Access,
    profile: str | None,
    streams_url: str | None,
    read_only: bool,
    transport: str,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    limits: tuple[str, ...],
) -> None:
    """Serve a broker to language models by the Model Context Protocol.

    Needs the extra `agents`: pip install 'triplewire[agents]'.  Over stdio, where the model's program starts this
    command, it acts with the credentials that are given here.  Over http each request acts with the bearer token that
    it brings; one without a token acts with the credentials given here, which is allowed at a loopback address only.
    """
    try:
        # Other commands need none of it.
        from .mcp.serving import Place, over_http, over_stdio  # noqa: PLC0415
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _OURS:
            raise
        raise click.ClickException(
            f"this needs the Model Context Protocol, and {missing} is not installed: pip install 'triplewire[agents]'"
        ) from error
    place = Place(host, port, hosts, origins)
    own_url = profile is None or context.get_parameter_source("url") is not ParameterSource.DEFAULT
    broker = _broker(url if own_url else None, profile, streams_url, access, limits, read_only=read_only)
    if transport == "http" and not place.is_local and broker.has_credentials:
        raise click.UsageError(
            f"whoever reaches {host} would act with your token: give no credentials, or listen at a loopback address"
        )
    if transport == "stdio":
        over_stdio(broker)
    else:
        over_http(broker, place, _say_ready)


def _broker(  # noqa: PLR0913 - what the options say
    url: str | None,
    profile: str | None,
    streams_url: str | None,
    access: Access,
    given: tuple[str, ...],
    *,
    read_only: bool,
) -> BrokerServer:
    from .mcp.addressing import Addressing, streams_beside  # noqa: PLC0415
    from .mcp.limits import Limits  # noqa: PLC0415
    from .mcp.server import BrokerServer  # noqa: PLC0415

    limits = Limits.of(given)
    if profile is None:
        assert url is not None  # without a profile it counts
        application, settings = None, access.settings()
        authorization = access.authorization(Addresses.of(url))
        base = url
    else:
        application = Application(profile)
        settings = access.settings(application.settings(None))
        authorization = application.authorization(access.bearer(), access.identity, settings)
        base = url or application.query("ASK {}", {}).url
    settings = replace(settings, timeout_s=limits.time_s)
    addressing = Addressing(url, application, (streams_url or streams_beside(base)).rstrip("/"))
    broker = BrokerServer(addressing, settings, authorization, limits, read_only=read_only)
    if len(broker.tools.listed) > limits.tools:
        raise click.UsageError(
            f"the profile makes {len(broker.tools.listed)} tools, more than {limits.tools}: --set tools=N allows more"
        )
    return broker


def _say_ready(url: str) -> None:
    print(f"mcp        {url}")
    print("ready", flush=True)

"""`python -m triplewire.conf.monitoring`: each agent of the monitoring on its own, or all of them in one process."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from triplewire.conf.brokers import broker_options, endpoint, overrides, run, until_stopped
from triplewire.jsap import Profile

from .mappings import Mapping
from .services import together
from .storing import StoringService
from .topics_manager import TopicsManager
from .values import Values

if TYPE_CHECKING:
    from collections.abc import Callable

SHIPPED = Path(__file__).with_name("monitoring.jsap")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def monitoring() -> None:
    """The monitoring of the SEPA paper: MQTT messages become observations that say what they mean."""


def _options(command: Callable[..., int]) -> Callable[..., int]:
    command = click.option(
        "--store-url", metavar="URL", help="The second endpoint's update operation, instead of the profile's."
    )(command)
    command = click.option(
        "--mqtt", metavar="HOST[:PORT]", help="The MQTT broker, instead of the profile's."
    )(command)
    return broker_options(command)


def _profile(
    jsap: str | None, url: str | None, ws: str | None, mqtt: str | None = None, store_url: str | None = None
) -> Profile:
    members = overrides(url, ws)
    if mqtt is not None:
        parts = urlsplit(f"//{mqtt}")
        members["extended.mqtt"] = {"host": parts.hostname, **({"port": parts.port} if parts.port else {})}
    if store_url is not None:
        members["updates.STORE_OBSERVATION.sparql11protocol"] = endpoint(store_url, "update")
    return Profile.load(jsap or SHIPPED, overrides=members)


@monitoring.command()
@broker_options
@click.option("--topic", help="Add this one mapping instead of the profile's; needs the IRIs too.")
@click.option("--observation", metavar="IRI", help="What the topic is mapped to; IRIs may be prefixed names.")
@click.option("--unit", metavar="IRI")
@click.option("--location", metavar="IRI")
@click.option("--label")
@click.option("--comment")
@click.option("--remove", metavar="IRI", help="Remove this observation with its mapping and its value.")
def topics(
    topic: str | None,
    remove: str | None,
    jsap: str | None,
    url: str | None,
    ws: str | None,
    **entry: str | None,
) -> int:
    """Tell the broker the profile's mappings, or one; or take one back."""
    profile = _profile(jsap, url, ws)
    mapping = Mapping.of(topic, entry, "the options") if topic is not None else None

    async def work() -> int:
        async with TopicsManager(profile) as manager:
            if remove is not None:
                await manager.remove(remove)
            elif mapping is not None:
                await manager.add(mapping)
            else:
                print(f"{await manager.add_all()} mappings")
        return 0

    return until_stopped(work())


@monitoring.command()
@_options
def adapter(**options: str | None) -> int:
    """Make each MQTT message the value of its observation."""
    return until_stopped(_adapter(_profile(**options)))


@monitoring.command()
@_options
def values(**options: str | None) -> int:
    """Show the present values as they change."""
    return until_stopped(_values(_profile(**options)))


@monitoring.command()
@_options
def store(**options: str | None) -> int:
    """Keep every value at the second endpoint."""
    return until_stopped(_store(StoringService(_profile(**options))))


@monitoring.command(name="all")
@_options
def everything(**options: str | None) -> int:
    """The profile's mappings, and then adapter, values and store in one process."""
    profile = _profile(**options)

    async def work() -> int:
        async with TopicsManager(profile) as manager:
            await manager.add_all()
        storing = StoringService(profile)

        async def adapter_after_store() -> int:
            await storing.following.wait()  # or the first values might not be stored
            return await _adapter(profile)

        await together(adapter_after_store(), _values(profile), _store(storing))
        return 0

    return until_stopped(work())


async def _adapter(profile: Profile) -> int:
    from .adapter import MqttAdapter  # noqa: PLC0415 - the other agents do without MQTT's library

    agent = MqttAdapter(profile)
    try:
        await agent.run()
    finally:
        _report("adapter", {**asdict(agent.counts), "repeated": agent.link.repeated, "lost": agent.link.lost})
    return 0


async def _values(profile: Profile) -> int:
    await Values(profile, sys.stdout).run()
    return 0


async def _store(agent: StoringService) -> int:
    try:
        await agent.run()
    finally:
        _report("store", {"stored": agent.stored, "refused": agent.refused})
    return 0


def _report(name: str, counts: dict[str, Any]) -> None:
    print(f"{name}: {', '.join(f'{count} {what}' for what, count in counts.items())}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(run(monitoring, "triplewire.conf.monitoring"))

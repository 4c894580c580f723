"""`triplewire tracker`: arranges the nodes that serve streams; a small program of its own, without a store."""

from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from triplewire.gates.quotas import Quotas
from triplewire.gates.relay.registry import Registry
from triplewire.gates.relay.tickets import TrackerKey
from triplewire.gates.relay.tracker import Tracker
from triplewire.gates.relay.tracker_access import TrackerAccess, judging
from triplewire.gates.relay.tracker_page import page_routes
from triplewire.gates.relay.tracking import Tracking
from triplewire.gates.tls import Certificate

from . import programs
from .heap import give_back, settle
from .ports import tracker_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from .config import Config

log = logging.getLogger("triplewire.broker.tracker")


@dataclass(frozen=True, slots=True)
class Running:
    """A tracker that answers: its base `url`, and how its certificate and permissions are read again."""

    url: str
    reread: Callable[[], None]


@contextlib.asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    """A tracker that answers until the block ends.

    Raises:
        ConfigError: the key, the certificate, the registry's URL or something of security can't be used.
        OSError: the port can't be opened.
    """
    settings = config.tracker
    tls = Certificate(config.tls) if config.tls.certificate else None
    judged = judging(config.security)
    registry = Registry(settings, config.paths)
    access = TrackerAccess(judged.authority, registry)
    key = TrackerKey.open(Path(settings.data) if settings.data else None)
    quotas = Quotas(config.limits)

    def reread() -> None:
        if tls is not None:
            tls.reread()
        judged.reread()

    async with registry.followed():
        # The time in which nodes only tell what they have begins now, when they can
        tracking = Tracking(settings, key, now=time.monotonic(), judge=access, degree=registry.degree)
        tracker = Tracker(
            config,
            tracking,
            key=key,
            access=access,
            registry=registry,
            quotas=quotas,
            routers=(page_routes(),),
        )
        async with (
            tracker.running(),
            tracker_port(config, tracker.app, tls, quotas) as url,
        ):
            try:
                yield Running(url, reread)
            finally:
                tracker.close()


async def serve(config: Config) -> None:
    """Run until SIGTERM or SIGINT; says where it listens, then `ready`, on standard output."""
    give_back()
    stop = programs.told_to_stop()
    async with running(config) as tracker:
        settle()
        programs.announce(announcement(config, tracker.url), tracker.reread)
        await stop.wait()
        log.info("= draining")
    log.info("= ended")


def announcement(config: Config, url: str) -> list[str]:
    """Where it is, where its key is, then `ready`."""
    data = config.tracker.data
    kept = (
        f"in {data}"
        if data
        else "in memory only: after a restart nodes have to learn a new one (--data DIR keeps it)"
    )
    lines = [f"tracker    {url}/", f"key        {kept}"]
    if config.tracker.registry:
        lines.append(f"registry   {config.tracker.registry}")
    return [*lines, "ready"]


def run(config: Config) -> None:
    """Configure logging, raise the limit of open files, and serve.

    Raises:
        ConfigError: a setting can't be followed.
        OSError: the port can't be opened.
    """
    programs.prepare(config.log)
    programs.run(serve(config))

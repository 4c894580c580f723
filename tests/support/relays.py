"""Relays in processes of their own that are linked with the nodes of an overlay in this process."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Self

from support.aws_delays import REGIONS
from support.overlay import STREAM
from support.running_relay import RunningRelay

if TYPE_CHECKING:
    from support.overlay import Overlay


class Relays:
    """Relays in processes, linked with the nodes of an overlay in this one."""

    def __init__(self, overlay: Overlay) -> None:
        self.running: dict[str, RunningRelay] = {}
        self._overlay = overlay
        self._numbers = itertools.count(1)

    async def start(self, *settings: str) -> str:
        """One more; its name."""
        number = next(self._numbers)
        name = f"relay-{number}"
        region = number % len(REGIONS)
        self._overlay._regions[name] = region
        options = ["--node", name, "--region", REGIONS[region]]
        for url in self._overlay.trackers:
            options += ["--tracker", url]
        for setting in settings:
            options += ["--set", setting]
        self.running[name] = await asyncio.to_thread(RunningRelay.start, *options)
        return name

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(asyncio.to_thread(relay.stop) for relay in self.running.values()))

    def region(self, name: str) -> str:
        """Where it is."""
        return REGIONS[self._overlay._regions[name]]

    def at(self, name: str) -> str:
        """Where its stream is."""
        return f"{self.running[name].streams}/{STREAM}"

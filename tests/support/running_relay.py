"""A real relay of an overlay in a process of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx

from .running_program import RunningProgram, started


@dataclass
class RunningRelay(RunningProgram):
    """`triplewire relay` on free ports; `streams` is the base URL of its stream port, `links` that of its links."""

    streams: str
    links: str

    @classmethod
    def start(
        cls, *arguments: str, streams: tuple[str, ...] = ("news",), env: dict[str, str] | None = None
    ) -> RunningRelay:
        """Start it and wait for `ready`; raises RuntimeError with its output where it ends instead."""
        command = ["--stream-port", "0", "--link-port", "0"]
        for name in streams:
            command += ["--stream", name]
        found = started("relay", *command, *arguments, env=env)
        streams_at, links = (
            next(m.group(1) for line in found.lines if (m := re.search(pattern, line)))
            for pattern in (r"^streams .*?(http://[^/\s]+)", r"^links +(wss?://[^/\s]+)")
        )
        return cls(*found, streams_at, links)

    @property
    def pages(self) -> str:
        """Where its health and figures are."""
        return "http" + self.links.removeprefix("ws")

    def figures(self) -> dict[str, float]:
        """What its /metrics tells."""
        return figures(f"{self.pages}/metrics")


def figures(url: str) -> dict[str, float]:
    """The values of a page of metrics by their names, those without labels."""
    page = httpx.get(url)
    assert page.status_code == 200, page.text
    lines = [line.split(" ") for line in page.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines if "{" not in name}

"""`python -m triplewire.conf.overlay`: a network of relays, and how long an item takes to be everywhere."""

from __future__ import annotations

import sys

import click

from triplewire.conf.brokers import run, until_stopped

from .network import Network, shown


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--relays", type=click.IntRange(1, 64), default=16, show_default=True, help="So many of them.")
@click.option(
    "--degree", type=click.IntRange(2, 32), default=4, show_default=True, help="Neighbours of each."
)
@click.option("--port", type=int, default=8003, show_default=True, help="The tracker's; 0 is any free one.")
@click.option("--items", type=int, default=0, help="End after so many items.  [0: Ctrl-C ends it]")
@click.option("--pause", type=float, default=1.0, show_default=True, help="Seconds between two items.")
def overlay(relays: int, degree: int, port: int, items: int, pause: float) -> int:
    """Start a tracker and relays, publish at one of them, and follow at each.

    The exit code is 1 if an item did not come to every relay.
    """
    return until_stopped(shown(Network(relays, degree, port), items, pause))


if __name__ == "__main__":
    sys.exit(run(overlay, "triplewire.conf.overlay"))

"""`python -m triplewire.conf.chat`: many users at once and what came of it, or one who types."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from triplewire.conf.brokers import broker_options, overrides, run, until_stopped
from triplewire.jsap import Profile

from .all_to_all import all_to_all
from .talk import talk

if TYPE_CHECKING:
    from typing import Any

SHIPPED = Path(__file__).with_name("chat.jsap")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@broker_options
@click.option("--name", help="Chat as this user; lines like `bob: hello` are read from standard input.")
@click.option("--clients", type=click.IntRange(2), help="So many users, each of whom writes to every other.")
@click.option("--messages", type=click.IntRange(1), help="So many messages from each to each.")
@click.option(
    "--patience",
    type=float,
    default=30.0,
    show_default=True,
    help="Seconds without an event until it is given up.",
)
def chat(
    name: str | None, clients: int | None, messages: int | None, patience: float, **broker: str | None
) -> int:
    """The chat of the SEPA paper: messages that are sent, received and removed by events alone.

    Without --name the exit code is 1 if a message or an event is missing, or one too many.
    """
    profile = Profile.load(broker["jsap"] or SHIPPED, overrides=overrides(broker["url"], broker["ws"]))
    if name is not None:
        if clients is not None or messages is not None:
            raise click.UsageError("--name is for one user, --clients and --messages are for many")
        return until_stopped(talk(profile, name))
    extended: dict[str, Any] = profile.extended
    return until_stopped(
        _measured(
            profile,
            clients or extended.get("clients", 10),
            messages or extended.get("messages", 10),
            patience,
        )
    )


async def _measured(profile: Profile, clients: int, messages: int, patience_s: float) -> int:
    began = time.monotonic()
    totals = await all_to_all(profile, clients, messages, patience_s=patience_s)
    total = clients * (clients - 1) * messages
    print(f"{clients} users, {messages} messages from each to every other: {total} in all")
    print(*totals.lines(), f"{'seconds':<10}{time.monotonic() - began:.1f}", sep="\n")
    return 0 if totals.is_complete(total) else 1


if __name__ == "__main__":
    sys.exit(run(chat, "triplewire.conf.chat"))

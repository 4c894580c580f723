"""The chat for one person: lines in, lines out."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from itertools import chain
from typing import IO, TYPE_CHECKING

from triplewire.broker.errors import ClientError

from .client import Client
from .messages import Listener

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pyoxigraph import NamedNode

    from triplewire.jsap import Profile

    from .messages import Message

HELP = "write `name: text` to send, /users to see who is there, /leave to unregister; Ctrl-D ends and stays registered"


class Screen(Listener):
    """Prints what the user hears."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def say(self, line: str) -> None:
        """Print a line, at once."""
        self._out.write(f"{line}\n")
        self._out.flush()

    def on_message(self, message: Message) -> None:
        """See `Listener`."""
        self.say(f"{message.name}: {message.text}")

    def on_delivered(self, message: NamedNode) -> None:
        """See `Listener`."""
        del message
        self.say("(delivered)")

    def on_error(self, error: Exception) -> None:
        """See `Listener`."""
        self.say(f"! {error}")


async def talk(profile: Profile, name: str, read: IO[str] = sys.stdin, out: IO[str] = sys.stdout) -> int:
    """One user's conversation until the input ends or says /leave; the exit code."""
    screen = Screen(out)
    async with Client(profile, name, screen) as client:
        screen.say(f"{name} is here; {HELP}")
        async for line in _lines(read):
            if line == "/leave":
                await client.leave()
                break
            try:
                await _heard(client, line, screen)
            except ClientError as error:
                screen.on_error(error)
    return 0


async def _lines(read: IO[str]) -> AsyncIterator[str]:
    """The lines of a file, pipe or terminal.

    They are read on a daemon thread: a read from a terminal can't be cancelled, and must not hold up the end.
    """
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def pump() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended before the input
            for line in chain(map(str.strip, read), [None]):
                loop.call_soon_threadsafe(lines.put_nowait, line)

    threading.Thread(target=pump, daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


async def _heard(client: Client, line: str, screen: Screen) -> None:
    if not line:
        return
    users = await client.users()
    if line == "/users":
        screen.say(", ".join(sorted(users)))
        return
    name, colon, words = (part.strip() for part in line.partition(":"))
    if not colon:
        screen.say(HELP)
    elif name not in users:
        screen.say(f"! nobody is called {name!r}; there are {', '.join(sorted(users))}")
    else:
        await client.say(users[name], words)

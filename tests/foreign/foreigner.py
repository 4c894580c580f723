"""A foreign client in a process of its own, told what to do and telling what happened, in JSON lines.

::

    to it     {"n":1,"do":"subscribe","with":{"sparql":..}}
    from it   {"n":1,"value":..}   or   {"n":1,"raised":"KeyError","message":".."}
              {"of":"messages","event":"added","value":..}         whenever something happens to what it holds
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE_S = 20.0


class Raised(Exception):
    """The foreign client raised; `kind` is the name of its exception."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class Foreigner:
    """A running driver program."""

    def __init__(self, command: Sequence[str], env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._news = threading.Condition()
        self._replies: dict[int, dict[str, Any]] = {}
        self._events: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
        self._errors: list[str] = []
        self._count = 0
        self._readers = [threading.Thread(target=read) for read in (self._read, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def do(self, verb: str, **arguments: Any) -> Any:
        """Have it done; what it came to.

        Raises:
            Raised: the foreign client raised.
        """
        self._count += 1
        order = json.dumps({"n": self._count, "do": verb, "with": arguments})
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; `_wait` tells what it said
            self._process.stdin.write(order + "\n")
            self._process.stdin.flush()
        reply = self._wait(lambda: self._replies.pop(self._count, None), f"an answer to {verb}")
        if "raised" in reply:
            raise Raised(reply["raised"], reply["message"])
        return reply.get("value")

    def event(self, of: str, name: str) -> Any:
        """The next event `name` of what was called `of`; waits for it."""
        waiting = self._events[of, name]
        return self._wait(lambda: [waiting.pop(0)] if waiting else None, f"the event {name} of {of}")[0]

    def seen(self, of: str, name: str) -> int:
        """How many such events have come and were not yet taken."""
        return len(self._events[of, name])

    def close(self) -> None:
        """End it; its standard input is closed, which it takes as the end."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join()

    def _wait(self, found: Any, what: str) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        with self._news:
            while (value := found()) is None:
                left = deadline - time.monotonic()
                ended = self._process.poll() is not None and not self._readers[0].is_alive()
                assert left > 0 and not ended, f"no {what}; it said: {''.join(self._errors)}"
                self._news.wait(min(left, 0.5))
        return value

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                said = json.loads(line)
                with self._news:
                    if "n" in said:
                        self._replies[said["n"]] = said
                    else:
                        self._events[said["of"], said["event"]].append(said.get("value"))
                    self._news.notify_all()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            self._errors.extend(lines)

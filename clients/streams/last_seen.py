"""Which item a consumer had last, kept in a file, so that another start goes on behind it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from triplewire.broker.errors import ClientError
from triplewire.clients.private_file import replace_file

# Two ids, which may be as long as an item's headers and are escaped, a URL and their names: what is larger is no file of ours.
_LARGEST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LastSeen:
    """The ids of the last item and of the one before it, None where it is not known.

    With both, a server is asked for what comes after the one before: that the last comes again first is the proof
    that its history reaches back so far.  `relay` is the URL where it was had, where there are several: another relay
    has the items of different publishers in another order.  `at` is when the last was published, in seconds since
    1970, or earlier; None where it is not known.
    """

    last: str
    before: str | None = None
    relay: str | None = None
    at: float | None = None


class LastSeenFile:
    """A file with mode 600, replaced as a whole, so that nobody reads half of it.

    It is not synced: a loss of power can take the last seconds, and the items of these come again.
    All methods raise OSError.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(path))

    def read(self) -> LastSeen | None:
        """What was kept, None where nothing was yet.

        Raises:
            ClientError: it is no file of ours.
        """
        try:
            with self.path.open("rb") as file:
                text = file.read(_LARGEST_BYTES + 1)
        except FileNotFoundError:
            return None
        try:
            document = json.loads(text)
            last, before, relay = document["last_seen"], document["before"], document.get("relay")
            at = document.get("at")
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            last = before = relay = at = 0
        if (
            not isinstance(last, str)
            or not all(isinstance(each, str | None) for each in (before, relay))
            or not isinstance(at, float | None)
        ):
            raise ClientError(f"{self.path}: expected the last item's id as a consumer keeps it")
        return LastSeen(last, before, relay, at)

    def keep(self, seen: LastSeen) -> None:
        """Put it in the place of what is there."""
        document: dict[str, str | float | None] = {"last_seen": seen.last, "before": seen.before}
        if seen.relay is not None:
            document["relay"] = seen.relay
        if seen.at is not None:
            document["at"] = seen.at
        text = json.dumps(document)
        replace_file(self.path, f"{text}\n", synced=False)

"""Long polls: requests that are answered with what there is, or with the next batch (facts 1.3 and 1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.wire.item_json import encode_array
from triplewire.broker.wire.items import TEST_CONNECTION

from .entry import Batch
from .forms import ZTREAMY
from .responses import gzipped, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from .feed import Feed
    from .protocol import Connection

_JSON = "application/json"


@dataclass(slots=True, eq=False)
class Poll:
    """A request that waits; `since` by the server's clock."""

    polls: Polls
    connection: Connection
    json: bool
    gzip: bool
    since: float

    def gone(self) -> None:
        """The client is not there any more."""
        self.polls.remove(self)


class Polls:
    """Those who wait for the next batch of one feed; `on_left` is called when one waits no longer."""

    def __init__(self, feed: Feed, on_left: Callable[[Polls], None]) -> None:
        self.feed = feed
        self._on_left = on_left
        self._waiting: dict[Poll, None] = {}  # in the order in which they came
        self._stop = feed.listen(self._on_batch)
        self._forget = feed.when_closed(self.end)

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self, poll: Poll) -> None:
        """One more."""
        self._waiting[poll] = None
        self.feed.followed(1)
        poll.connection.waiting = poll

    def remove(self, poll: Poll) -> None:
        """It waits no longer."""
        if poll in self._waiting:
            del self._waiting[poll]
            self.feed.followed(-1)
            self._on_left(self)

    def expire(self, before: float) -> None:
        """Answer those that have waited since `before`, with nothing."""
        for poll in tuple(self._waiting):
            if poll.since > before:
                return
            self._answer(poll, Batch(self.feed.name, ()), {})

    def end(self) -> None:
        """Answer everyone, with nothing."""
        written: dict[tuple[bool, bool, bool], bytes] = {}
        for poll in tuple(self._waiting):
            self._answer(poll, Batch(self.feed.name, ()), written)

    cut = end

    def stop(self) -> None:
        """Listen no more."""
        self._stop()
        self._forget()

    def _on_batch(self, batch: Batch) -> None:
        entries = tuple(entry for entry in batch.entries if entry.item.command != TEST_CONNECTION)
        if not entries:
            return  # whoever polls knows that its connection is alive: it polls again
        batch = batch if len(entries) == len(batch) else Batch(batch.stream, entries)
        written: dict[tuple[bool, bool, bool], bytes] = {}
        for poll in tuple(self._waiting):
            self._answer(poll, batch, written)

    def _answer(self, poll: Poll, batch: Batch, written: dict[tuple[bool, bool, bool], bytes]) -> None:
        key = (poll.json, poll.gzip, poll.connection.may_stay)
        if key not in written:
            written[key] = polled(batch, json=poll.json, gzip=poll.gzip, keep_alive=poll.connection.may_stay)
        self.remove(poll)
        poll.connection.answer(written[key])


def polled(
    batch: Batch, *, json: bool, gzip: bool, keep_alive: bool = True, head_only: bool = False
) -> bytes:
    """The response to a long poll."""
    body = _body(batch, json=json, gzip=gzip)
    headers = [("Cache-Control", "no-store"), ("Vary", "Accept, Accept-Encoding")]
    if gzip:
        headers.append(("Content-Encoding", "gzip"))
    media_type = _JSON if json else ZTREAMY.media_type
    return whole(200, body, media_type, headers, keep_alive=keep_alive, head_only=head_only)


def _body(batch: Batch, *, json: bool, gzip: bool) -> bytes:
    """Made once for all who ask for the same: many come back at a moment."""
    key = (json, gzip)
    if key not in batch.answers:
        body = encode_array(entry.item for entry in batch.entries) if json else batch.plain
        batch.answers[key] = gzipped(body) if gzip else body
    return batch.answers[key]

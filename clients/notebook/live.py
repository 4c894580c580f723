"""A live query as a DataFrame that is always current."""

from __future__ import annotations

import contextlib
import threading
import weakref
from html import escape
from typing import TYPE_CHECKING

from triplewire.broker.errors import ClientError
from triplewire.clients.addresses import Addresses
from triplewire.clients.subscriber import Subscriber

from .access import tokens_for
from .change_log import changes_frame
from .feed import Feed
from .frames import frame

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd

    from triplewire.broker.model import Query
    from triplewire.clients.authorization import Authorization
    from triplewire.clients.settings import ClientSettings

_SHOWN = 20  # rows, where a notebook shows it


class Live:
    """Follows the answer to a query until it is closed, or nobody holds it any more.

    ::

        with Live("http://localhost:8000", "SELECT ?room ?t { ?room <urn:t> ?t }") as live:
            live.wait()
            print(live.frame)

    `url` is a broker's HTTP or WebSocket URL.  The constructor returns with the first results.  A lost connection is made
    again, and what was missed is then in the frame.  An answer that grows beyond `rows_limit` rows ends the
    subscription with an error; `history` bounds the rows that `changes` holds.  At a
    secure broker say an `identity` that `triplewire register` has registered, or where tokens come from (`authorization`).

    Raises:
        BrokerRefused: the broker's own error.
        ConnectionLost: it can't be reached, or sent no first results in time.
        ClientError: the answer has more than `rows_limit` rows.
    """

    def __init__(  # noqa: PLR0913 - all but URL and query are keywords
        self,
        url: str,
        sparql: str | Query,
        *,
        identity: str | None = None,
        authorization: Authorization | None = None,
        settings: ClientSettings | None = None,
        rows_limit: int = 1_000_000,
        history: int = 10_000,
    ) -> None:
        if rows_limit < 1 or history < 0:
            raise ValueError("rows_limit is at least 1, and history at least 0")
        feed = Feed(rows_limit, history)
        subscriber = Subscriber(
            url if url.startswith(("ws://", "wss://")) else Addresses.of(url).subscribe,
            settings=settings,
            authorization=tokens_for(url, identity, authorization, settings),
            on_disconnect=feed.lost,
            on_reconnect=feed.back,
        )
        feed.hang_up = subscriber.close
        self._feed = feed
        self._close = weakref.finalize(self, _end, subscriber, feed)
        try:
            self._query = subscriber.subscribe(sparql, **feed.callbacks())
        except ClientError:
            self._close()
            raise
        if feed.error is not None:  # refused by us: too many rows
            self._close()
            raise feed.error
        self._lock = threading.Lock()
        self._made: tuple[int, pd.DataFrame] | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """The answer now: its rows as a bag, new ones last; after the end, as it was last.  It is yours to change."""
        version = self._feed.version  # read first: rows that come meanwhile are then new once more
        with self._lock:
            if self._made is None or self._made[0] != version:
                self._made = version, frame(self._query)
            return self._made[1].copy()

    @property
    def changes(self) -> pd.DataFrame:
        """The rows that came and went, the first results among them, with the index `number`, `at` and `change`.

        `at` is when we heard of it.  The oldest changes are not held for ever: `dropped` says how many are missing.
        `live.changes.xs("+", level="change")` is what came.
        """
        changes, _ = self._feed.log()
        return changes_frame(self.vars, changes)

    @property
    def dropped(self) -> int:
        """How many of the first changes are not in `changes` any more."""
        return self._feed.log()[1]

    @property
    def vars(self) -> tuple[str, ...]:
        """The variables of the query."""
        return self._query.vars

    @property
    def version(self) -> int:
        """A number that is another one whenever there is something new to see."""
        return self._feed.version

    @property
    def connected(self) -> bool:
        """Whether the broker is there; while it is not, the frame is as old as the connection's end."""
        return self._feed.connected and not self._feed.closed

    @property
    def closed(self) -> bool:
        """Whether nothing more comes."""
        return self._feed.closed

    @property
    def error(self) -> Exception | None:
        """What has ended it, if it was not `close`."""
        return self._feed.error

    def wait(self, changes: int = 1, timeout_s: float | None = 30.0) -> pd.DataFrame:
        """The answer, as soon as so many changes came that no `wait` has counted before: none is missed between two.

        Raises:
            TimeoutError: they did not come within `timeout_s` seconds.
            ClientError: the live query has ended.
        """
        if changes < 1:
            raise ValueError(f"there is nothing to wait for: changes={changes}")
        self._feed.wait(changes, timeout_s)
        return self.frame

    def changed(self, since: int, timeout_s: float) -> int:
        """The `version`, once it is not `since` any more, or the live query is closed, or the time is over."""
        return self._feed.changed(since, timeout_s)

    def close(self) -> None:
        """Let the subscription and its connection go; `frame` and `changes` stay as they are."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Live {', '.join(f'?{name}' for name in self.vars)}: {self._state()}>"

    def _repr_html_(self) -> str:
        shown = self.frame
        table = shown.to_html(max_rows=_SHOWN, border=0)
        return f"{table}<p>{len(shown)} rows, {escape(self._state())}</p>"

    def _state(self) -> str:
        if self.error is not None:
            return f"ended: {self.error}"
        if self.closed:
            return "closed"
        return "live" if self.connected else "the connection is lost, and tried again"


def _end(subscriber: Subscriber, feed: Feed) -> None:
    feed.close()
    with contextlib.suppress(ClientError):
        subscriber.close()

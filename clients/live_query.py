"""A query whose answer is followed: the client's end of a subscription."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from .kept_answer import KeptAnswer
from .solutions import Solution, solutions

if TYPE_CHECKING:
    from triplewire.broker.model import Query, Resume

    from .callbacks import Callbacks


class State(Enum):
    """Where a live query stands.

    ::

        WAITING --first results--> LIVE --unsubscribe--> LEAVING --unsubscribed--> ENDED
           ^---- connection lost ----'                      '---- connection lost ----^
    """

    WAITING = "waiting for first results"
    LIVE = "live"
    LEAVING = "being unsubscribed"
    ENDED = "ended"


class Waiter(Protocol):
    """Somebody who waits for an answer: a future of asyncio or of concurrent.futures."""

    def done(self) -> bool:
        """Whether it has its result."""
        ...

    def set_result(self, result: Any, /) -> None:
        """Let it go on."""
        ...

    def set_exception(self, exception: Any, /) -> None:
        """Let it go on with an error."""
        ...


class LiveQuery:
    """A subscription as its user sees it.  It outlives connections: at most `spuid` is another one after each."""

    def __init__(self, query: Query, alias: str | None, callbacks: Callbacks) -> None:
        self.query = query
        self.alias = alias
        self.callbacks = callbacks
        self.state = State.WAITING
        self.spuid: str | None = None
        self.sequence = 0
        self.heard: Resume | None = None  # of the connection that was lost: what was heard last
        self.answered = False  # whether first results were ever told
        self.label = ""  # the alias on the wire: unique on its connection, as the user's need not be
        self.kept = KeptAnswer()
        self.waiter: Waiter | None = None

    @property
    def vars(self) -> tuple[str, ...]:
        """The variables of the answer."""
        return self.kept.vars

    @property
    def answer(self) -> list[Solution]:
        """The present answer, as far as the broker has told."""
        # Copied in one step of the interpreter, since another thread may be taking a notification in.
        rows: Counter[Any] = Counter()
        dict.update(rows, dict.copy(self.kept.rows))
        return solutions(self.kept.vars, rows.elements())

    def settle(self, error: Exception | None = None) -> bool:
        """Let the one who waits go on; False where nobody did."""
        waiter, self.waiter = self.waiter, None
        if waiter is None or waiter.done():
            return False
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)
        return True

    def __repr__(self) -> str:
        return f"<LiveQuery {self.alias or self.spuid or self.label!r} {self.state.value}>"

"""What a user hears about a live query, and in which order.

For first results: `on_first_results` alone.  For each change after them: `on_notification`, then `on_added` and
`on_removed` where there are such rows (this is SEPA's order).  Rows are lists of mappings (`solutions.py`).

After a lost connection the broker tells what was missed, or the whole answer again; the user hears of what is
different, as of any other change, or nothing where nothing is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from .solutions import Solution, solutions

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from triplewire.broker.model import Notification, Row

    from .live_query import LiveQuery

Told: TypeAlias = "tuple[Callable[[Any], object], Any]"


@dataclass(frozen=True, slots=True)
class FirstResults:
    """The first answer to a live query."""

    live: LiveQuery
    notification: Notification


@dataclass(frozen=True, slots=True)
class Changed:
    """The answer changed; after a reconnection the notification is made from the true difference."""

    live: LiveQuery
    notification: Notification


@dataclass(frozen=True, slots=True)
class Failed:
    """The broker refused the subscription or ended it, or the connection is gone for good."""

    live: LiveQuery
    error: Exception


@dataclass(frozen=True, slots=True)
class Ended:
    """The subscription is no more; `spuid` is None where it never was."""

    live: LiveQuery
    spuid: str | None


Event: TypeAlias = FirstResults | Changed | Failed | Ended


class CallbackOptions(TypedDict, total=False):
    """The callbacks by keyword; under asyncio each may be a coroutine function."""

    on_first_results: Callable[[list[Solution]], object]
    on_notification: Callable[[Notification], object]
    on_added: Callable[[list[Solution]], object]
    on_removed: Callable[[list[Solution]], object]
    on_error: Callable[[Exception], object]
    on_unsubscribe: Callable[[str | None], object]


NAMES = frozenset(CallbackOptions.__annotations__)


class Callbacks:
    """Override the methods, or give functions by keyword; a keyword wins.

    An exception in a callback is logged and given to `on_error`; the connection and later callbacks go on.
    """

    def __init__(self, **given: Any) -> None:
        unknown = given.keys() - NAMES
        if unknown:
            raise TypeError(f"{sorted(unknown)} are not callbacks; there are {sorted(NAMES)}")
        for name, function in given.items():
            setattr(self, name, function)

    def on_first_results(self, rows: list[Solution]) -> object:
        """The whole answer, once for each live query."""

    def on_notification(self, notification: Notification) -> object:
        """A change, as the nouns of the protocol; before `on_added` and `on_removed`."""

    def on_added(self, rows: list[Solution]) -> object:
        """Rows that are now in the answer, or more often than before."""

    def on_removed(self, rows: list[Solution]) -> object:
        """Rows that are no longer in the answer, or less often than before."""

    def on_error(self, error: Exception) -> object:
        """BrokerRefused or ConnectionLost where the live query has ended by it, or what a callback raised."""

    def on_unsubscribe(self, spuid: str | None) -> object:
        """The live query has ended because it was asked to."""

    def told(self, event: Event) -> Iterator[Told]:
        """The calls that tell `event`, in order: each a function and its argument."""
        match event:
            case FirstResults(_, notification):
                yield self.on_first_results, _rows(notification.delta.vars, notification.delta.added)
            case Changed(_, notification):
                delta = notification.delta
                yield self.on_notification, notification
                if delta.added:
                    yield self.on_added, _rows(delta.vars, delta.added)
                if delta.removed:
                    yield self.on_removed, _rows(delta.vars, delta.removed)
            case Failed(_, error):
                yield self.on_error, error
            case Ended(_, spuid):
                yield self.on_unsubscribe, spuid


def _rows(variables: tuple[str, ...], bag: Counter[Row]) -> list[Solution]:
    return solutions(variables, bag.elements())


def split(named: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keyword arguments as callbacks and everything else (the values of forced bindings)."""
    callbacks = {name: value for name, value in named.items() if name in NAMES}
    return callbacks, {name: value for name, value in named.items() if name not in NAMES}

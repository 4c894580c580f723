"""The chat's nouns: a message, what a user wants to hear of it, and which messages an answer holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from triplewire.broker.errors import BrokerMisbehaved

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.clients import Solution


@dataclass(frozen=True, slots=True)
class Message:
    """A message as its receiver sees it; `iri` is what it is told from others by."""

    iri: NamedNode
    sender: NamedNode
    name: str
    text: str
    sent: str

    @classmethod
    def of(cls, row: Solution) -> Message:
        """The message in a row of SENT."""
        return cls(
            iri(row, "message"), iri(row, "sender"), text(row, "name"), text(row, "text"), text(row, "time")
        )


class Listener:
    """What a client tells of; override what you want to hear.  Nothing here may block."""

    def on_message(self, message: Message) -> None:
        """A message to the user has come."""

    def on_known(self, message: NamedNode) -> None:
        """The sender of a message to the user knows that it came."""

    def on_delivered(self, message: NamedNode) -> None:
        """A message from the user has come to its receiver."""

    def on_removed(self, message: NamedNode) -> None:
        """A message from the user is no longer in the store."""

    def on_event(self) -> None:
        """The broker has sent one of the agents a notification; first results are none."""

    def on_error(self, error: Exception) -> None:
        """An agent could not do its part."""


class Answer:
    """Which messages are in the answer that an agent follows.

    A message may have several rows, as when its sender has two names, and rows may come and go while others of the same
    message stay.  It has appeared with its first row, and vanished with its last.
    """

    def __init__(self) -> None:
        self._rows: Counter[NamedNode] = Counter()

    def added(self, rows: Iterable[Solution]) -> list[Solution]:
        """For each message that has appeared, one of its rows."""
        appeared = []
        for row in rows:
            message = iri(row, "message")
            if not self._rows[message]:
                appeared.append(row)
            self._rows[message] += 1
        return appeared

    def removed(self, rows: Iterable[Solution]) -> list[NamedNode]:
        """The messages that have vanished."""
        vanished = []
        for row in rows:
            message = iri(row, "message")
            self._rows[message] -= 1
            if self._rows[message] <= 0:
                del self._rows[message]
                vanished.append(message)
        return vanished


def iri(row: Solution, name: str) -> NamedNode:
    """The IRI of that name in a row.

    Raises:
        BrokerMisbehaved: there is none, which the profile's queries do not allow.
    """
    term = row.get(name)
    if isinstance(term, NamedNode):
        return term
    raise BrokerMisbehaved(f"?{name} is not an IRI, but {term}")


def text(row: Solution, name: str) -> str:
    """The text of the literal of that name in a row; raises as `iri` does."""
    term = row.get(name)
    if isinstance(term, Literal):
        return term.value
    raise BrokerMisbehaved(f"?{name} is not a literal, but {term}")

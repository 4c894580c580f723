"""Which messages an answer holds."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from triplewire.broker.errors import BrokerMisbehaved
from triplewire.conf.chat.messages import Answer, Message

ONE, OTHER = NamedNode("urn:uuid:1"), NamedNode("urn:uuid:2")


def row(message: NamedNode, name: str = "Anna") -> dict:
    return {
        "message": message,
        "sender": NamedNode("urn:anna"),
        "name": Literal(name),
        "text": Literal("Ciao!"),
        "time": Literal("2030-01-01T00:00:00Z"),
    }


def test_two_messages_of_one_instant_are_two():
    """Sender, text and time may be the same; the IRI is not."""
    answer = Answer()
    assert [found["message"] for found in answer.added([row(ONE), row(OTHER)])] == [ONE, OTHER]
    assert answer.removed([row(OTHER)]) == [OTHER]


def test_a_message_with_two_rows_appears_once():
    """Its sender has two names."""
    answer = Answer()
    assert len(answer.added([row(ONE), row(ONE, "Annabelle")])) == 1
    assert answer.removed([row(ONE)]) == []
    assert answer.removed([row(ONE, "Annabelle")]) == [ONE]


def test_a_row_that_is_replaced_is_no_news():
    """Its sender was renamed: the new row is told before the old one goes."""
    answer = Answer()
    answer.added([row(ONE)])
    assert answer.added([row(ONE, "Annabelle")]) == []
    assert answer.removed([row(ONE)]) == []


def test_a_message_can_come_again():
    """After it has gone."""
    answer = Answer()
    answer.added([row(ONE)])
    answer.removed([row(ONE)])
    assert len(answer.added([row(ONE)])) == 1


def test_a_row_becomes_a_message():
    """With the names of the profile's variables."""
    message = Message.of(row(ONE))
    assert (message.iri, message.name, message.text) == (ONE, "Anna", "Ciao!")


@pytest.mark.parametrize("change", [{"message": Literal("x")}, {"text": ONE}])
def test_a_row_of_something_else_is_refused(change):
    """The profile's own queries can't give it; somebody else's can."""
    with pytest.raises(BrokerMisbehaved, match="is not"):
        Message.of(row(ONE) | change)

"""The chat over a real broker: every message is sent, received and removed, by events alone."""

from __future__ import annotations

import asyncio

import pytest
from pyoxigraph import NamedNode
from support.applications import chat_profile, until, until_async

from triplewire.clients import AsyncConsumer, AsyncProducer, AsyncSparqlClient, ConnectionLost
from triplewire.conf.chat.all_to_all import Totals, all_to_all
from triplewire.conf.chat.client import Client
from triplewire.conf.chat.messages import Listener, Message

EVERYTHING = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
CHAT_GRAPH = "http://example.org/chat"


class Diary(Listener):
    """Writes down what one client is told, into a book that clients share."""

    def __init__(self, who: str, book: list[tuple[str, str]]) -> None:
        self.who = who
        self.book = book
        self.texts: list[str] = []
        self.errors: list[Exception] = []
        self.events = 0

    def on_message(self, message: Message) -> None:
        self.texts.append(message.text)
        self.book.append((self.who, "received"))

    def on_known(self, message: NamedNode) -> None:  # noqa: ARG002 - a callback
        self.book.append((self.who, "knows that the sender knows"))

    def on_delivered(self, message: NamedNode) -> None:  # noqa: ARG002 - a callback
        self.book.append((self.who, "delivered"))

    def on_removed(self, message: NamedNode) -> None:  # noqa: ARG002 - a callback
        self.book.append((self.who, "removed"))

    def on_event(self) -> None:
        self.events += 1

    def on_error(self, error) -> None:
        self.errors.append(error)


async def stored(broker) -> int:
    async with AsyncSparqlClient(broker.http) as client:
        return len(await client.select(EVERYTHING))


async def test_two_clients_follow_the_sequence_of_the_paper(fresh_broker):
    """Figure 8: SEND, SENT added, SET_RECEIVED, RECEIVED added, REMOVE, and both answers lose the message."""
    book: list[tuple[str, str]] = []
    anna_hears, bob_hears = Diary("Anna", book), Diary("Bob", book)
    profile = chat_profile(fresh_broker)
    async with Client(profile, "Anna", anna_hears) as anna, Client(profile, "Bob", bob_hears) as bob:
        before = await stored(fresh_broker)
        await anna.say(bob.user, "Ciao!")
        await until(lambda: len(book) == 4)
        assert book[:2] == [("Bob", "received"), ("Anna", "delivered")]
        # The last two are told by one update, on two connections.
        assert set(book[2:]) == {("Bob", "knows that the sender knows"), ("Anna", "removed")}
        assert (bob_hears.texts, anna_hears.texts) == (["Ciao!"], [])
        assert (anna_hears.events, bob_hears.events) == (2, 2)
        assert await stored(fresh_broker) == before == 4  # two users, each with a type and a name
        await anna.leave()
        await bob.leave()
    assert await stored(fresh_broker) == 0
    assert not anna_hears.errors + bob_hears.errors


async def test_each_step_leaves_in_the_store_what_the_paper_says(broker):
    """With the agents' updates made by hand: the bold graph after SEND, the dotted triple, and then nothing."""
    profile = chat_profile(broker)
    async with Client(profile, "Carl") as carl, Client(profile, "Dora") as dora:
        await dora._receiver.close()  # so that nobody answers
        await carl.say(dora.user, "Hallo")
        async with (
            AsyncSparqlClient(broker.http) as sparql,
            AsyncProducer(profile, "SET_RECEIVED") as received,
        ):
            question = (
                f"SELECT ?m ?p {{ GRAPH <{CHAT_GRAPH}> {{ ?m a <http://schema.org/Message> ; ?p ?o }} }}"
            )
            rows = await sparql.select(question)
            names = sorted(row["p"].value.rpartition("/")[2] for row in rows)
            assert names == ["22-rdf-syntax-ns#type", "dateSent", "sender", "text", "toRecipient"]
            await received.update(message=rows[0]["m"])
            # Carl's remover hears of it and takes the message away.
            await until_async(lambda: sparql.select(question), [])
        await carl.leave()
        await dora.leave()


async def test_messages_sent_at_once_are_all_delivered(broker):
    """The same text to the same receiver at the same time: what tells them apart is their IRI."""
    profile, book = chat_profile(broker), []
    hears = Diary("Bob", book)
    async with Client(profile, "Anna", Diary("Anna", book)) as anna, Client(profile, "Bob", hears) as bob:
        await asyncio.gather(*(anna.say(bob.user, "now") for _ in range(20)))
        await until(lambda: len(book) == 80)
        assert hears.texts == ["now"] * 20
        await anna.leave()
        await bob.leave()
    assert await stored(broker) == 0


async def test_one_notification_may_bring_many_messages(broker):
    """Somebody sends to everybody by one update; each message is received and removed on its own."""
    profile, book = chat_profile(broker), []
    async with (
        Client(profile, "Anna", Diary("Anna", book)) as anna,
        Client(profile, "Bob", Diary("Bob", book)) as bob,
    ):
        send = f"""PREFIX schema: <http://schema.org/>
            INSERT {{ GRAPH <{CHAT_GRAPH}> {{ ?m a schema:Message ; schema:text ?t ; schema:sender {anna.user} ;
                schema:toRecipient {bob.user} ; schema:dateSent ?now }} }}
            WHERE {{ VALUES ?t {{ "one" "two" "three" }} BIND(UUID() AS ?m) BIND(NOW() AS ?now) }}"""
        async with AsyncSparqlClient(broker.http) as sparql:
            await sparql.update(send)
        await until(lambda: len(book) == 12)
        assert book.count(("Bob", "received")) == book.count(("Anna", "removed")) == 3
        await anna.leave()
        await bob.leave()


async def test_a_user_who_is_away_gets_the_messages_later(broker):
    """A user has one IRI for ever; and who sent them learns of it when both are there."""
    profile, book = chat_profile(broker), []
    async with Client(profile, "Bob") as bob:
        address = bob.user
    async with Client(profile, "Anna", Diary("Anna", book)) as anna:
        await anna.say(address, "Are you there?")
        await anna.say(address, "Well, later")
        hears = Diary("Bob", book)
        async with Client(profile, "Bob", hears) as bob:
            assert bob.user == address
            await until(lambda: len(book) == 8)
            assert sorted(hears.texts) == ["Are you there?", "Well, later"]
            await bob.leave()
        await anna.leave()
    assert await stored(broker) == 0


@pytest.mark.parametrize(
    "text", ['"quotes"', "back\\slash", "'''", "line\nline", "?sender", "} DROP ALL #", "გამარჯობა", ""]
)
async def test_any_text_arrives_as_it_was_written(broker, text):
    """A text can't become anything else than a text."""
    profile, book = chat_profile(broker), []
    hears = Diary("Bob", book)
    async with (
        Client(profile, 'An"na } #', Diary("Anna", book)) as anna,
        Client(profile, "Bob", hears) as bob,
    ):
        await anna.say(bob.user, text)
        await until(lambda: len(book) == 4)
        assert hears.texts == [text]
        await anna.leave()
        await bob.leave()


async def test_nothing_is_sent_to_strangers(broker):
    """SEND asks for two registered users."""
    profile = chat_profile(broker)
    async with Client(profile, "Anna") as anna:
        before = await stored(broker)
        await anna.say(NamedNode("http://example.org/chat/user/Nobody"), "Hello?")
        assert await stored(broker) == before
        await anna.leave()


async def test_a_message_that_came_twice_is_received_once(broker):
    """Two devices of one user: the second SET_RECEIVED changes nothing, so the sender hears of it once."""
    profile, book = chat_profile(broker), []
    first, second = Diary("Bob", book), Diary("Bob's telephone", book)
    heard = []
    async with (
        Client(profile, "Anna", Diary("Anna", book)) as anna,
        Client(profile, "Bob", first) as bob,
        Client(profile, "Bob", second),
        AsyncConsumer(profile, "RECEIVED", on_notification=heard.append) as consumer,
    ):
        await consumer.subscribe(sender=anna.user)
        await anna.say(bob.user, "Ciao!")
        await until(lambda: len(book) == 6 and len(heard) == 2)
        assert book.count(("Anna", "delivered")) == 1
        await anna.leave()
        await bob.leave()


async def test_without_a_broker_there_is_no_chat(broker, quick):
    """The error is the first thing that happens, and nothing stays open."""
    profile = chat_profile(broker, **{"sparql11protocol.port": 1})
    with pytest.raises(ConnectionLost):
        await Client(profile, "Anna", settings=quick).__aenter__()


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_ten_clients_write_to_each_other(fresh_broker):
    """Ten messages from each of ten users to each of the nine others: 900, and four events for each."""
    totals = await all_to_all(chat_profile(fresh_broker), 10, 10)
    assert totals == Totals(sent=900, received=900, delivered=900, removed=900, known=900, events=3600)
    assert await stored(fresh_broker) == 0


async def test_what_is_missing_is_told(fresh_broker, quick):
    """A REMOVE that removes nothing: messages are received, and never removed."""
    profile = chat_profile(
        fresh_broker, **{"updates.REMOVE.sparql": "DELETE DATA { <urn:a> <urn:b> ?message }"}
    )
    totals = await all_to_all(profile, 2, 2, patience_s=0.5, settings=quick)
    assert (totals.sent, totals.received, totals.delivered) == (4, 4, 4)
    assert (totals.removed, totals.known) == (0, 0)
    assert not totals.is_complete(4)

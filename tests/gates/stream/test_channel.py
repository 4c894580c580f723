"""What the processes tell each other: messages in any pieces, errors as they were."""

from __future__ import annotations

import asyncio
import socket

import pytest

from triplewire.broker.errors import (
    BrokerError,
    EngineError,
    Forbidden,
    MethodNotAllowed,
    NotFound,
    SparqlSyntaxError,
    Unauthorized,
)
from triplewire.gates.stream.channel import (
    Answer,
    Asking,
    Authorize,
    Came,
    Channel,
    Left,
    Stats,
    Wrong,
    packed,
)
from triplewire.gates.stream.entry import Entry

from .serving import item, until

MESSAGES = [Left("e", 3), Came("e", tuple(Entry(n, item(n), 0.5) for n in range(50))), Stats(1, 2, 3)]


@pytest.mark.parametrize("size", [1, 3, 1000, 10**6])
def test_messages_in_any_pieces(size):
    """As they were sent, in order."""
    got = []
    channel = Channel(got.append, lambda: None)
    data = b"".join(map(packed, MESSAGES))
    for start in range(0, len(data), size):
        channel.data_received(data[start : start + size])
    assert got == MESSAGES


@pytest.mark.parametrize(
    "error",
    [
        NotFound("no"),
        MethodNotAllowed("no", allow=("GET",)),
        Unauthorized("no", code="invalid_token", challenge="Bearer x"),
        Forbidden("no", code="insufficient_scope"),
        SparqlSyntaxError("no", line=1, column=2),
    ],
)
def test_errors_stay_what_they_are(error):
    """With all that they hold."""
    got = []
    Channel(got.append, lambda: None).data_received(packed(Answer(1, None, Wrong.of(error))))
    found = got[0].error.error()
    assert type(found) is type(error)
    assert (found.description, found.code, found.status) == (error.description, error.code, error.status)
    assert vars(found) == vars(error)
    assert str(found) == "no"


async def test_questions_and_answers():
    """Each has its own, in any order; none is answered when the other end has gone."""
    here, there = socket.socketpair()
    loop = asyncio.get_running_loop()
    lost = []
    asked = []
    answers = []
    channel = Channel(answers.append, lambda: (asking.lost(), lost.append(1)))
    asking = Asking(channel)
    other = Channel(asked.append, lambda: None)
    await loop.create_unix_connection(lambda: channel, sock=here)
    await loop.create_unix_connection(lambda: other, sock=there)
    tasks = [asyncio.create_task(asking.ask(Authorize(token))) for token in "abc"]
    await until(lambda: len(asked) == 3)
    other.send(Answer(asked[1].number, "B"))
    other.send(Answer(asked[0].number, None, Wrong.of(NotFound("A"))))
    other.send(Answer(99, "nobody's"))
    await until(lambda: len(answers) == 3)
    for answer in answers:
        asking.answered(answer)
    assert await tasks[1] == "B"
    with pytest.raises(NotFound, match="A"):
        await tasks[0]
    other.close()
    with pytest.raises(EngineError):
        await tasks[2]
    assert lost == [1]
    assert isinstance(EngineError("x"), BrokerError)


async def test_the_other_end_that_does_not_read_is_noticed():
    """Since when, until it does."""
    here, there = socket.socketpair()
    channel = Channel(lambda _: None, lambda: None)
    await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=here)
    for _ in range(20):
        channel.write(bytes(100_000))
    assert channel.unread_since is not None
    assert channel.unread_bytes > 0
    there.setblocking(False)
    async with asyncio.timeout(5):
        while channel.unread_since is not None:
            try:
                there.recv(1 << 20)
            except BlockingIOError:
                await asyncio.sleep(0)
    there.close()
    channel.close()
    await asyncio.sleep(0)

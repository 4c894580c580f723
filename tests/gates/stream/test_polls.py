"""Long polls, without a socket: who waits, who is answered, with which bytes."""

from __future__ import annotations

import asyncio
import gzip
import json

from triplewire.broker.config import StreamConfig
from triplewire.gates.stream import polls
from triplewire.gates.stream.entry import Batch, Entry
from triplewire.gates.stream.polls import Poll, Polls, polled
from triplewire.gates.stream.stream import open_stream

from .serving import item


class Connection:
    """What a poll answers."""

    may_stay = True
    waiting = None

    def __init__(self):
        self.answers = []

    def answer(self, data):
        self.answers.append(data)


def opened():
    stream = open_stream("events", StreamConfig(), asyncio.get_running_loop())
    left = []
    return stream, Polls(stream, left.append), left


async def test_all_who_wait_for_the_same_get_the_same_object():
    """Encoded, and compressed, once for each form."""
    stream, polls, left = opened()
    waiting = [Connection() for _ in range(4)]
    for number, connection in enumerate(waiting):
        polls.wait(Poll(polls, connection, number > 1, number == 3, 0.0))
    await stream.publish([item(1)], "")
    await asyncio.sleep(0)
    assert waiting[0].answers[0] is waiting[1].answers[0]
    body = waiting[2].answers[0].partition(b"\r\n\r\n")[2]
    assert [each["Event-Id"] for each in json.loads(body)] == ["1"]
    assert gzip.decompress(waiting[3].answers[0].partition(b"\r\n\r\n")[2]) == body
    assert (len(polls), len(left)) == (0, 4)
    stream.close()


async def test_a_sign_of_life_wakes_nobody():
    """Who polls, polls again by itself."""
    stream, polls, _ = opened()
    connection = Connection()
    polls.wait(Poll(polls, connection, False, False, 0.0))
    stream._send_sign_of_life()
    stream._send()
    assert not connection.answers
    await stream.publish([item(1)], "")
    stream._send_sign_of_life()
    stream._send()
    assert b"Test-Connection" not in connection.answers[0]
    stream.close()


async def test_who_has_gone_or_waited_too_long():
    """The one is forgotten, the other answered with nothing; the end answers all."""
    stream, polls, left = opened()
    connections = [Connection() for _ in range(3)]
    for since, connection in enumerate(connections):
        polls.wait(Poll(polls, connection, False, False, float(since)))
    connections[0].waiting.gone()
    polls.expire(1.0)
    assert [len(connection.answers) for connection in connections] == [0, 1, 0]
    stream.close()
    assert [len(connection.answers) for connection in connections] == [0, 1, 1]
    assert b"Content-Length: 0\r\n" in connections[2].answers[0]
    assert len(left) == 3
    polls.stop()


def test_an_empty_answer():
    """A list where JSON is asked for."""
    assert polled(Batch("e", ()), json=True, gzip=False).endswith(b"\r\n\r\n[]")
    batch = Batch("e", (Entry(1, item(1), 0.0),))
    assert polled(batch, json=False, gzip=False, head_only=True).endswith(b"\r\n\r\n")


def test_an_answer_is_made_once(monkeypatch):
    """For each form, whoever asks for these items, and when."""
    made = []
    monkeypatch.setattr(polls, "encode_array", lambda items: made.append(len(list(items))) or b"[]")
    monkeypatch.setattr(polls, "gzipped", lambda body: made.append("gzip") or body)
    batch = Batch("e", (Entry(1, item(1), 0.0),))
    for keep_alive in (True, False, True):
        polled(batch, json=True, gzip=False, keep_alive=keep_alive)
        polled(batch, json=True, gzip=True, keep_alive=keep_alive)
    assert made == [1, 1, "gzip"]

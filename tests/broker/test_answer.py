"""An answer on its way from a thread that writes to a connection that reads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import zlib

import pytest

from triplewire.broker.answer import CHUNK_BYTES, CHUNKS, Answer, AnswerAbandoned, call_on
from triplewire.broker.errors import BrokerError, DeadlineExceeded, EngineError, RequestError
from triplewire.broker.model import QueryForm
from triplewire.broker.wire.media import JSON

PART = b"0123456789abcdef" * 1024  # a quarter of a chunk


class Reading:
    """An answer and the thread that fills it."""

    def __init__(self, work, limit_s=60.0, *, compress=False):
        self.answer = Answer(limit_s, compress=compress)
        self.done = asyncio.Event()
        self.answer.when_done(self.done.set)
        self.written = 0
        self.thread = threading.Thread(target=self.answer.run, args=(lambda: work(self),), daemon=True)
        self.thread.start()

    def write(self, data=PART):
        """On the thread."""
        self.answer.sink.write(data)
        self.written += len(data)

    async def taken(self):
        """All that comes."""
        return [chunk async for chunk in self.answer.chunks()]

    async def ended(self, within_s=5.0):
        """The thread is free again."""
        await asyncio.wait_for(self.done.wait(), within_s)
        self.thread.join(within_s)
        assert not self.thread.is_alive()


def many(reading):
    """A large answer: 100 chunks."""
    for _ in range(400):
        reading.write()


def endless(reading):
    """An answer that never ends."""
    while True:
        reading.write()


def small(reading):
    """A few bytes."""
    reading.answer.sink.start(QueryForm.SELECT, JSON)
    reading.write(b"one ")
    reading.write(b"two")


async def test_a_small_answer_is_whole():
    """Its form and format are known, its bytes there at once; it is never compressed."""
    reading = Reading(small, compress=True)
    await reading.answer.started()
    assert (reading.answer.form, reading.answer.format) == (QueryForm.SELECT, JSON)
    assert reading.answer.whole == b"one two"
    assert not reading.answer.compressed
    await reading.ended()


async def test_a_small_answer_may_be_taken_by_chunks():
    """As any other."""
    reading = Reading(small)
    assert b"".join(await reading.taken()) == b"one two"
    await reading.ended()


async def test_an_empty_answer_is_whole():
    """And has no bytes."""
    reading = Reading(lambda _: None)
    await reading.answer.started()
    assert reading.answer.whole == b""
    await reading.ended()


async def test_a_large_answer_comes_in_chunks():
    """Each byte once and in order; it is not whole."""

    def numbered(reading):
        for number in range(100_000):
            reading.write(b"%d," % number)

    reading = Reading(numbered)
    await reading.answer.started()
    assert reading.answer.whole is None
    chunks = await reading.taken()
    assert b"".join(chunks) == b"".join(b"%d," % number for number in range(100_000))
    assert all(CHUNK_BYTES <= len(chunk) < CHUNK_BYTES + 100 for chunk in chunks[:-1])
    await reading.ended()


async def test_a_slow_taker_holds_up_the_thread_and_not_the_loop():
    """No more than some chunks are written ahead; the loop is free all the time."""
    reading = Reading(many)
    await reading.answer.started()
    before, longest = -1, 0.0
    while before != reading.written:
        before = reading.written
        for _ in range(50):
            started = time.monotonic()
            await asyncio.sleep(0.001)
            longest = max(longest, time.monotonic() - started)
    assert longest < 0.5
    assert reading.written <= (CHUNKS + 1) * CHUNK_BYTES
    assert sum(map(len, await reading.taken())) == 400 * len(PART)
    await reading.ended()


@pytest.mark.parametrize("taken", [0, 3])
async def test_an_abandoned_answer_frees_its_thread_within_a_second(taken):
    """Whether it waits for room or is writing."""
    reading = Reading(endless)
    await reading.answer.started()
    chunks = reading.answer.chunks()
    for _ in range(taken):
        await anext(chunks)
    await asyncio.sleep(0.05)
    started = time.monotonic()
    reading.answer.close()
    await reading.ended()
    assert time.monotonic() - started < 1
    await chunks.aclose()


async def test_an_answer_that_is_abandoned_before_its_turn_is_not_begun():
    """The thread goes straight on to the next."""
    answer, begun = Answer(60.0), []
    answer.close()
    await asyncio.to_thread(answer.run, lambda: begun.append(1))
    with pytest.raises(DeadlineExceeded, match="abandoned"):
        await answer.started()
    assert begun == []


async def test_who_is_cancelled_while_waiting_abandons_the_answer():
    """Nobody else would."""
    reading = Reading(lambda reading: (time.sleep(0.2), endless(reading)))
    waiting = asyncio.create_task(reading.answer.started())
    await asyncio.sleep(0.02)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    await reading.ended(2)


async def test_an_answer_that_runs_too_long_is_ended():
    """Where its taker keeps up: at the limit, after the chunks that were sent."""

    def slow(reading):
        while True:
            reading.write(PART * 4)
            time.sleep(0.005)

    reading = Reading(slow, limit_s=0.2)
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded, match=r"longer than 0.2 s \(limits.query_s\)"):
        await reading.taken()
    assert 0.15 < time.monotonic() - started < 2
    await reading.ended()


async def test_a_taker_that_takes_nothing_does_not_keep_the_thread():
    """Beyond the limit, and a moment."""
    reading = Reading(endless, limit_s=0.1)
    await reading.answer.started()
    await reading.ended(2)
    with pytest.raises(DeadlineExceeded):
        await reading.taken()


async def test_time_begins_with_the_turn():
    """Not while the answer waits for a thread."""
    answer = Answer(0.1)
    await asyncio.sleep(0.15)
    await asyncio.to_thread(answer.run, lambda: answer.sink.write(b"x"))
    await answer.started()
    assert answer.whole == b"x"


@pytest.mark.parametrize("work", [many, lambda reading: reading.write(b"x" * CHUNK_BYTES)])
async def test_large_answers_are_compressed(work):
    """As one gzip stream over all chunks, and decided with the first."""
    reading = Reading(work, compress=True)
    await reading.answer.started()
    assert reading.answer.compressed
    assert reading.answer.whole is None
    chunks = await reading.taken()
    unpacked = zlib.decompressobj(wbits=31)
    data = b"".join(map(unpacked.decompress, chunks))
    assert len(data) == reading.written
    assert unpacked.eof
    assert sum(map(len, chunks)) < len(data) / 10
    await reading.ended()


@pytest.mark.parametrize("error", [RequestError("no such thing"), ValueError("secret"), MemoryError()])
async def test_an_error_before_the_first_bytes_is_raised_at_once(error):
    """The request's own as it is, any other as an error of ours that gives nothing away."""

    def fail(reading):
        reading.write(b"x")
        raise error

    reading = Reading(fail)
    with pytest.raises(BrokerError) as caught:
        await reading.answer.started()
    if isinstance(error, RequestError):
        assert caught.value is error
    else:
        assert isinstance(caught.value, EngineError)
        assert caught.value.description == f"internal error: {type(error).__name__}"
    assert reading.answer.whole is None
    await reading.ended()


async def test_an_error_half_way_is_raised_after_the_chunks():
    """What was sent was sent; the rest of the buffer is not."""

    def fail(reading):
        for _ in range(9):
            reading.write()
        raise RequestError("half-way")

    reading, found = Reading(fail), []

    async def take():
        async for chunk in reading.answer.chunks():
            found.append(len(chunk))  # noqa: PERF401 - what came before the error counts

    with pytest.raises(RequestError, match="half-way"):
        await take()
    assert found == [CHUNK_BYTES] * 2
    assert reading.answer.whole is None
    await reading.ended()


async def test_waiting_for_the_end():
    """Takes what comes and raises what went wrong."""
    await Reading(many).answer.finished()

    def fail(reading):
        many(reading)
        raise RequestError("late")

    with pytest.raises(RequestError, match="late"):
        await Reading(fail).answer.finished()


async def test_a_file_is_flushed_for_nothing():
    """Oxigraph's writers flush; chunks go when they are full."""
    reading = Reading(lambda reading: (reading.write(b"x"), reading.answer.sink.flush(), reading.write(b"y")))
    await reading.answer.started()
    assert reading.answer.whole == b"xy"


def test_a_thread_may_outlive_the_loop():
    """What it has to tell is dropped, and nothing is raised in it."""

    async def start():
        return Reading(lambda reading: (time.sleep(0.1), reading.write(b"x" * CHUNK_BYTES)))

    reading = asyncio.run(start())
    reading.thread.join(5)
    assert not reading.thread.is_alive()
    assert reading.written == CHUNK_BYTES
    call_on(reading.answer._loop, pytest.fail)


async def test_abandoning_is_no_error_of_ours(caplog):
    """Nothing is logged."""
    reading = Reading(endless)
    await reading.answer.started()
    reading.answer.close()
    await reading.ended()
    assert not issubclass(AnswerAbandoned, BrokerError)
    assert not caplog.records

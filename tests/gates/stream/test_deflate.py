"""Shared compression: each consumer's stream is one that zlib reads, from its join to any merge and beyond."""

from __future__ import annotations

import random
import zlib

from hypothesis import given, settings
from hypothesis import strategies as st

from triplewire.gates.stream.deflate import HEADER, MOST_GROUPS, WINDOW_BYTES, Groups, alone


class Follower:
    """A consumer: what it was sent, by its own decompressor."""

    def __init__(self):
        self.expected = b""
        self.text = b""
        self.blocks = []
        self._zlib = zlib.decompressobj()
        self.read(HEADER)

    def read(self, data):
        self.blocks.append(data)
        self.text += self._zlib.decompress(data)


class Followers(set):
    """The members of a group."""

    def take(self, others):
        self |= others
        others.clear()


class World:
    """A stream, and who follows it."""

    def __init__(self, level=6):
        self.groups = Groups(level, Followers)
        self.followers = []

    def join(self, history=b""):
        follower = Follower()
        if history:
            follower.read(alone(history, 6))
            follower.expected += history
        self.groups.newcomers().add(follower)
        self.followers.append(follower)
        return follower

    def leave(self, index):
        follower = self.followers.pop(index % len(self.followers))
        for members in self.groups.members():
            members.discard(follower)

    def send(self, plain):
        for members, block in self.groups.blocks(plain):
            for follower in members:
                follower.read(block)
        for follower in self.followers:
            follower.expected += plain


def text(seed, size):
    """Bytes that repeat in part, some of it from far behind, as items do."""
    rng = random.Random(seed)
    words = [rng.randbytes(rng.randrange(3, 400)) for _ in range(30)]
    made = b""
    while len(made) < size:
        made += rng.choice(words)
    return made[:size]


CORPUS = text(1, 200_000)

steps = st.one_of(
    st.tuples(st.just("join"), st.sampled_from([0, 0, 1, 500, 40_000])),
    st.tuples(st.just("leave"), st.integers(0, 50)),
    st.tuples(
        st.just("send"), st.sampled_from([0, 1, 100, 3000, 9000, 32_767, 32_768, 32_769, 40_000, 70_000])
    ),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(steps, max_size=60), st.integers(1, 9), st.integers(0, 100_000))
def test_each_consumer_reads_what_was_sent_since_it_came(walk, level, start):
    """Byte for byte, whenever it came, whoever left, and however large the batches are."""
    world = World(level)
    place = start
    for what, number in walk:
        if what == "join":
            world.join(CORPUS[start : start + number])
        elif what == "leave" and world.followers:
            world.leave(number)
        elif what == "send":
            world.send(CORPUS[place : place + number])
            place = (place + number) % 100_000
    for follower in world.followers:
        assert follower.text == follower.expected
    assert len(world.groups) <= MOST_GROUPS
    assert sum(map(len, world.groups.members())) == len(world.followers)


def test_those_who_have_converged_are_sent_the_same_bytes():
    """From 32,768 plain bytes on newcomers are in the main group, and nothing was reset for it."""
    world = World()
    first = world.join()
    for index in range(30):
        world.send(CORPUS[index * 2000 : index * 2000 + 2000])
    second = world.join()
    for index in range(30, 30 + WINDOW_BYTES // 2000 + 1):
        assert len(world.groups) == 2
        world.send(CORPUS[index * 2000 : index * 2000 + 2000])
        assert first.blocks[-1] is not second.blocks[-1]
    world.send(CORPUS[100_000:102_000])
    assert len(world.groups) == world.groups.merged == 1
    assert first.blocks[-1] is second.blocks[-1]
    assert first.text == first.expected
    assert second.text == second.expected


def test_newcomers_of_one_window_share_a_compressor():
    """A thousand that come between two batches cost one deflate."""
    world = World()
    world.join()
    world.send(b"one")
    newcomers = [world.join() for _ in range(1000)]
    world.send(b"two")
    assert len(world.groups) == 2
    assert len({id(newcomer.blocks[-1]) for newcomer in newcomers}) == 1


def test_there_are_never_many_compressors():
    """One newcomer before each of many small batches: the youngest group begins anew, and all can still read."""
    world = World()
    for index in range(200):
        world.join()
        world.send(CORPUS[index * 700 : index * 700 + 700])
        assert len(world.groups) <= MOST_GROUPS
    assert world.groups.restarted > 0
    assert world.groups.merged > 0
    assert all(follower.text == follower.expected for follower in world.followers)


def test_the_next_eldest_group_becomes_the_main_one():
    """The main group's members leave, and nobody's stream breaks."""
    world = World()
    world.join()
    world.send(CORPUS[:5000])
    second = world.join()
    world.send(CORPUS[5000:10_000])
    world.leave(0)
    world.send(CORPUS[10_000:60_000])
    assert len(world.groups) == 1
    world.join()
    world.send(CORPUS[60_000:100_000])
    world.send(CORPUS[60_000:100_000])
    assert len(world.groups) == 1
    assert second.text == second.expected


def test_a_shared_window_is_worth_it():
    """Similar items in small batches come to less than half of what they are when each batch begins anew."""
    world = World()
    follower = world.join()
    item = (
        b'@prefix dc: <http://purl.org/dc/elements/1.1/> .\n<http://example.org/%d> dc:content "%d" .\n' * 5
    )
    batches = [item % tuple(range(n * 10, n * 10 + 10)) for n in range(100)]
    for batch in batches:
        world.send(batch)
    assert sum(map(len, follower.blocks)) * 2 < sum(len(alone(batch, 6)) for batch in batches)

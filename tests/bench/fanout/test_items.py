"""The items: as many bytes as the paper's, as compressible, the same for the same seed, and found again by their mark."""

from __future__ import annotations

import random
import zlib
from statistics import mean

from bench.fanout.items import MARK, MARK_BYTES, Posts, item

from triplewire.broker.wire.item_reader import ItemReader


def test_posts_are_as_long_as_the_paper_s():
    posts = Posts(5)
    assert 860 < mean(len(posts.post()) for _ in range(2000)) < 900


def test_a_seed_is_a_row_of_posts():
    once, again, other = Posts(1), Posts(1), Posts(2)
    first = [once.post() for _ in range(20)]
    assert first == [again.post() for _ in range(20)]
    assert first != [other.post() for _ in range(20)]
    assert len(set(first)) == 20


def test_posts_compress_as_the_paper_s():
    """400 of them, Poisson 4/s, what comes within half a second together: 15 %."""
    posts, times, deflate = Posts(1), random.Random(2), zlib.compressobj(6)
    now, plain, compressed, batches = 0.0, 0, 0, {}
    for number in range(400):
        now += times.expovariate(4)
        batches.setdefault(int(now / 0.5), []).append(item(number, "abcdef01", posts.post(), now))
    for batch in batches.values():
        text = b"".join(batch)
        plain += len(text)
        compressed += len(deflate.compress(text) + deflate.flush(zlib.Z_SYNC_FLUSH))
    assert 0.14 < compressed / plain < 0.16


def test_an_item_bears_its_number_and_its_time():
    mark = MARK.search(item(-999, "abcdef01", b"body", 1732798000.25))
    assert (int(mark[2]), float(mark[1])) == (-999, 1732798000.25)
    assert len(mark[0]) <= MARK_BYTES


def test_an_item_is_one_to_our_gate():
    """What is measured is what the gate takes, the whole of it."""
    posts = Posts(1)
    made = item(1, "abcdef01", posts.post()) + item(2, "abcdef01", posts.post())
    assert len(list(ItemReader().feed(made))) == 2

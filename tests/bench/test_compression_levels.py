"""What compression saves, and what it costs: by zlib's level, by the window, by the rate.  The trade-off is drawn.

Items like those of Ztreamy's paper, microblog posts of about 880 bytes in Turtle, arrive at random (Poisson) and leave in
batches, compressed by the gate's own shared compressor.  It is one deflate of each batch, whoever follows: what that
costs a consumer is its time divided by all of them.  Nothing goes over a socket here; `test_stream_fanout.py` has that.

The curves are written to build/bench/compression.png and .svg; TRIPLEWIRE_ITEMS is how many items are compressed.
"""

from __future__ import annotations

import importlib.util
import os
import random
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from support.benchmarks import Table

from triplewire.broker.wire.items import Item, encode_item
from triplewire.gates.stream.deflate import Groups, alone

if TYPE_CHECKING:
    from collections.abc import Iterator

ITEMS = int(os.environ.get("TRIPLEWIRE_ITEMS", "400"))  # as many as in the paper
ROUNDS = 3
LEVELS = range(1, 10)
WINDOWS_S = [0.0, 0.1, 0.5, 1.0]
RATES = [4, 40]  # items a second
CONSUMERS = [1_000, 40_000]
DRAWN = Path(__file__).parents[2] / "build" / "bench" / "compression.png"

TEXT = (
    "traffic light rain city delay river level noise air quality station update road closed market event music today "
    "evening bridge signal network release version semantic web stream query graph coffee train weather cloud storm "
    "meeting talk slides video journal draft review thanks sensor street open data planet morning north south"
)
WORDS = TEXT.split()
PLACES = [("52.392", "4.899"), ("40.332", "-3.765"), ("13.018", "77.568"), ("48.857", "2.352")]
POST = """@prefix dc: <http://purl.org/dc/elements/1.1/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix geo: <http://www.w3.org/2003/01/geo/wgs84_pos#> .
@prefix post: <http://example.org/microblog/ns#> .

<http://example.org/notice/{notice}> dc:creator <http://example.org/user/{user}> ;
    dc:date "2026-10-{day:02}T{hour:02}:{minute:02}:{second:02}Z" ;
    post:content "{text} http://example.org/{short:06x}" ;
    post:conversation <http://example.org/conversation/{conversation}> ;
    post:location [ a geo:Place ; geo:lat "{there[0]}" ; geo:long "{there[1]}" ] .
<http://example.org/user/{user}> foaf:name "{first} {last}" ;
    foaf:based_near [ a geo:Place ; geo:lat "{home[0]}" ; geo:long "{home[1]}" ] .
"""


class Nobody(list[None]):
    """Members of a group; one, so that it is there."""

    def take(self, others: Self) -> None:
        """Have the others', too."""
        self.extend(others)
        others.clear()


class Found(NamedTuple):
    """What one setting came to."""

    level: int
    window_s: float
    rate: int
    share: float  # of the plain bytes that are left
    item_us: float  # of one thread's time


def items(rng: random.Random) -> Iterator[bytes]:
    """As the gate has them on the wire."""
    for number in range(ITEMS):
        body = POST.format(
            notice=rng.randrange(97_000_000, 98_000_000),
            user=rng.randrange(300_000),
            conversation=rng.randrange(96_000_000, 97_000_000),
            text=" ".join(rng.choices(WORDS, k=rng.randrange(14, 50))),
            short=rng.randrange(2**24),
            day=rng.randrange(1, 29),
            hour=rng.randrange(24),
            minute=rng.randrange(60),
            second=rng.randrange(60),
            there=rng.choice(PLACES),
            home=rng.choice(PLACES),
            first=rng.choice(WORDS).title(),
            last=rng.choice(WORDS).title(),
        )
        yield encode_item(
            Item(
                f"{rng.randbytes(16).hex()}",
                "b6ad6cbc-2a1e-4a1e-8a0c-5b0a40b5a3a1",
                "text/turtle",
                body.encode(),
                aggregator_ids=("0a2d9c61-8b0e-4f0e-9d6e-3f3e2b1a0c9d",),
                timestamp=f"2026-10-01T00:{number // 60 % 60:02}:{number % 60:02}.000+00:00",
            )
        )


def batches(plain: list[bytes], window_s: float, rate: int) -> list[bytes]:
    """Those that leave together: the first to come opens the window."""
    rng = random.Random(rate)
    found: list[list[bytes]] = []
    now = ends = 0.0
    for item in plain:
        now += rng.expovariate(rate)
        if now >= ends or not window_s:
            found.append([])
            ends = now + window_s
        found[-1].append(item)
    return [b"".join(batch) for batch in found]


def compressed(plain: list[bytes], level: int) -> tuple[list[bytes], float]:
    """The blocks that everybody gets, and the seconds that making them took; the shortest of some rounds."""
    took = []
    for _ in range(ROUNDS):
        groups: Groups[Nobody] = Groups(level, Nobody)
        groups.newcomers().append(None)
        began = time.thread_time()
        blocks = [groups.blocks(batch)[0][1] for batch in plain]
        took.append(time.thread_time() - began)
    return blocks, min(took)


def measured(plain: list[bytes], level: int, window_s: float, rate: int) -> Found:
    """What they come to, where a consumer can read them."""
    leaving = batches(plain, window_s, rate)
    blocks, seconds = compressed(leaving, level)
    reader = zlib.decompressobj(-zlib.MAX_WBITS)
    assert [reader.decompress(block) for block in blocks] == leaving
    size = sum(map(len, blocks))
    return Found(level, window_s, rate, size / sum(map(len, plain)), seconds / len(plain) * 1e6)


def draw(found: list[Found]) -> str:
    """Time against bytes, a line for each window; what was written, or why nothing."""
    if importlib.util.find_spec("matplotlib") is None:
        return "nothing is drawn: matplotlib is not installed (extra: bench)"
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(RATES), figsize=(11, 4.5), sharey=True)
    for panel, rate in zip(panels, RATES, strict=True):
        for window_s in WINDOWS_S:
            line = [each for each in found if (each.rate, each.window_s) == (rate, window_s)]
            panel.plot(
                [each.item_us for each in line],
                [each.share * 100 for each in line],
                marker="o",
                label=f"{window_s:g} s" if window_s else "none",
            )
            for each in line:
                panel.annotate(str(each.level), (each.item_us, each.share * 100), fontsize=7)
        panel.set(title=f"{rate} items/s", xlabel="CPU for an item, whoever follows (us)", ylim=(0, None))
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("bytes left (%)")
    panels[-1].legend(title="window")
    figure.suptitle("Shared compression by zlib's level (the numbers)")
    figure.tight_layout()
    DRAWN.parent.mkdir(parents=True, exist_ok=True)
    for kind in (".png", ".svg"):
        figure.savefig(DRAWN.with_suffix(kind), dpi=120)
    plt.close(figure)
    return f"drawn: {DRAWN} and .svg"


def test_bytes_against_time() -> None:
    """A higher level never leaves more than a low one, a longer window no more than none; a shared past saves most."""
    plain = list(items(random.Random(6)))
    mean = sum(map(len, plain)) / len(plain)
    consumers = [f"ns/delivery at {count:,}" for count in CONSUMERS]
    table = Table(
        f"{ITEMS} items of {mean:.0f} bytes",
        "level",
        "window s",
        "items/s",
        "bytes left %",
        "us/item",
        *consumers,
    )
    settings = [(level, window_s, rate) for rate in RATES for window_s in WINDOWS_S for level in LEVELS]
    found = [measured(plain, *setting) for setting in settings]
    for each in found:
        costs = [each.item_us * 1000 / count for count in CONSUMERS]
        table.add(each.level, each.window_s, each.rate, each.share * 100, each.item_us, *costs)
    table.print()
    print(draw(found))
    share = {(each.level, each.window_s, each.rate): each.share for each in found}
    apart = sum(len(alone(item, 6)) for item in plain) / sum(map(len, plain))
    print(f"each item on its own, level 6: {apart * 100:.1f} %")
    for rate in RATES:
        for window_s in WINDOWS_S:
            assert share[9, window_s, rate] <= share[6, window_s, rate] <= share[1, window_s, rate] < apart
        for level in LEVELS:
            assert share[level, 1.0, rate] <= share[level, 0.0, rate]

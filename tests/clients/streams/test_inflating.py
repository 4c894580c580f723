import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.errors import BrokerMisbehaved
from triplewire.clients.streams.inflating import Inflating

TEXT = b"a stream that never ends, " * 40


def deflated(*blocks, wbits=zlib.MAX_WBITS):
    stream = zlib.compressobj(wbits=wbits)
    return [stream.compress(block) + stream.flush(zlib.Z_SYNC_FLUSH) for block in blocks]


def inflated(coding, *data):
    inflating = Inflating(coding)
    return b"".join(piece for each in data for piece in inflating.pieces(each))


@pytest.mark.parametrize(
    ("coding", "wbits"), [("deflate", 15), ("DEFLATE", 15), ("gzip", 31), ("x-gzip", 31), ("deflate", -15)]
)
def test_each_flush_is_read_at_once(coding, wbits):
    """With a zlib header, a gzip header, and without the one that there should be."""
    one, two = deflated(TEXT, b"more", wbits=wbits)
    inflating = Inflating(coding)

    assert b"".join(inflating.pieces(one)) == TEXT
    assert b"".join(inflating.pieces(two)) == b"more"


@given(st.lists(st.binary(max_size=200), max_size=5), st.data())
def test_any_split_gives_the_same(blocks, data):
    """Whatever pieces the bytes come in; the first has the header."""
    wire = b"".join(deflated(*blocks))
    cuts = sorted(data.draw(st.lists(st.integers(2, max(2, len(wire))), max_size=6)))
    pieces = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]

    assert inflated("deflate", *pieces) == b"".join(blocks)


def test_blocks_of_several_compressors_behind_one_header_are_one_stream():
    """As servers stitch them together."""
    header = b"\x78\x9c"
    blocks = [deflated(text, wbits=-15)[0] for text in (TEXT, b"other " * 50)]

    assert inflated("deflate", header, *blocks) == TEXT + b"other " * 50


def test_the_header_may_come_alone():
    """And its two bytes, too."""
    wire = deflated(TEXT)[0]

    assert inflated("deflate", wire[:1], wire[1:2], wire[2:]) == TEXT


def test_a_little_does_not_become_too_much_at_once():
    """16 MB of zeros come in pieces."""
    pieces = list(Inflating("deflate").pieces(deflated(bytes(16_000_000))[0]))

    assert sum(map(len, pieces)) == 16_000_000
    assert max(map(len, pieces)) <= 256 * 1024


def test_a_second_stream_behind_the_end_of_the_first_is_read():
    """As gzip members."""
    assert inflated("gzip", zlib.compress(b"one", wbits=31) + zlib.compress(b"two", wbits=31)) == b"onetwo"


@pytest.mark.parametrize("coding", ["", "identity"])
def test_without_a_coding_bytes_are_as_they_are(coding):
    """Nothing is looked at."""
    assert inflated(coding, b"\xff\xff") == b"\xff\xff"


def test_what_was_not_asked_for_is_refused():
    """As br."""
    with pytest.raises(BrokerMisbehaved, match="'br'"):
        Inflating("br")


@pytest.mark.parametrize("data", [(b"plain text, no deflate",), (deflated(TEXT)[0], b"\xff" * 20)])
def test_what_is_not_of_the_coding_is_refused(data):
    """At the beginning and later."""
    with pytest.raises(BrokerMisbehaved, match="not what its encoding says"):
        inflated("deflate", *data)

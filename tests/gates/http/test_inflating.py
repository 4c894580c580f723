"""Compressed bodies: what was sent comes back in pieces, anything else is malformed, and a bomb does not go off."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.errors import MalformedRequest, UnsupportedMediaType
from triplewire.gates.http.inflating import PIECE, Inflating


def bare(data: bytes) -> bytes:
    """A deflate stream without zlib's header."""
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


CODINGS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    " GZIP ": lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:]),
    "deflate": zlib.compress,
    "Deflate": bare,
}


def inflated(coding, data, size=None):
    """What comes out where `size` bytes go in at a time."""
    stream = Inflating(coding)
    parts = [data[start : start + size] for start in range(0, len(data), size)] if size else [data]
    found = [piece for part in parts for piece in stream.pieces(part)]
    stream.finish()
    assert all(len(piece) <= PIECE for piece in found)
    return b"".join(found)


@given(st.binary(max_size=2000), st.sampled_from(sorted(CODINGS)), st.integers(1, 200))
def test_what_was_compressed_comes_back(data, coding, size):
    """Whole, and however it is cut; several members are one body."""
    sent = CODINGS[coding](data)

    assert inflated(coding, sent) == inflated(coding, sent, size) == inflated(coding, sent, 1) == data


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("size", [PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 1_000_000])
def test_a_long_body_comes_in_pieces(coding, size):
    """At their borders, too."""
    assert inflated(coding, CODINGS[coding](b"x" * size)) == b"x" * size


@given(st.binary(), st.sampled_from(sorted(CODINGS)), st.integers(1, 50))
def test_any_bytes_inflate_or_are_malformed(data, coding, size):
    """No other error leaves, so none can become a 500."""
    try:
        found = inflated(coding, data, size)
    except MalformedRequest:
        return
    assert isinstance(found, bytes)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_that_is_cut_off_anywhere_is_malformed(coding):
    """Nothing of it is taken for the whole."""
    sent = CODINGS[coding](b"INSERT DATA { <s> <p> 1 }")
    members = {len(gzip.compress(b"INSER"))} if coding == " GZIP " else set()

    for end in set(range(len(sent))) - members:
        with pytest.raises(MalformedRequest, match="ends in the middle"):
            inflated(coding, sent[:end])


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "gzip,identity", "", "compress", "gzip;q=1"])
def test_other_codings_are_not_read(coding):
    """Nor several, which multiply."""
    with pytest.raises(UnsupportedMediaType, match=r"Content-Encoding .* is not read here"):
        Inflating(coding)


@pytest.mark.parametrize("coding", ["deflate", "Deflate"])
def test_nothing_may_follow_a_deflate_stream(coding):
    """Where gzip may have another member."""
    with pytest.raises(MalformedRequest, match="something follows its end"):
        inflated(coding, CODINGS[coding](b"x") + b"y")


def test_members_without_end_are_malformed():
    """Twenty bytes each, and nothing comes out of them."""
    assert inflated("gzip", gzip.compress(b"") * 1000) == b""
    with pytest.raises(MalformedRequest, match="more than 1000 gzip members"):
        inflated("gzip", gzip.compress(b"") * 1001)


def test_a_bomb_is_inflated_no_further_than_is_asked():
    """A kilobyte would become a megabyte: a piece costs a piece."""
    stream = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    bomb = b"".join(stream.compress(bytes(1 << 20)) for _ in range(256)) + stream.flush()
    tracemalloc.start()
    inflating = Inflating("gzip")
    pieces = inflating.pieces(bomb)
    for _ in range(100):
        assert inflating.is_full(next(pieces))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(bomb) < 300_000
    assert most < 2_000_000

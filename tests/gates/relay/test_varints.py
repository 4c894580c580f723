"""Numbers in as few bytes as they need, and in no other form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.errors import ProtocolError
from triplewire.gates.relay.varints import MOST, read_varint, varint


@given(st.integers(0, MOST), st.binary(max_size=3), st.binary(max_size=3))
def test_a_number_comes_back(number, before, behind):
    """Wherever it stands, and nothing of what is around it."""
    written = varint(number)

    found, end = read_varint(before + written + behind, len(before), "number")

    assert (found, end) == (number, len(before) + len(written))
    assert len(written) == max((number.bit_length() + 6) // 7, 1)


@given(st.binary(max_size=12))
def test_no_number_has_two_forms(data):
    """What can be read is what would be written."""
    try:
        number, end = read_varint(data, 0, "number")
    except ProtocolError:
        return

    assert varint(number) == data[:end]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "end before"),
        (b"\xff\xff", "end before"),
        (b"\x80\x00", "longer than need be"),
        (b"\xff" * 9, "greater"),
        (b"\x80" * 9 + b"\x01", "greater"),
    ],
)
def test_what_is_none(data, why):
    """And which number it should have been."""
    with pytest.raises(ProtocolError, match=f"count at byte 0: .*{why}"):
        read_varint(data, 0, "count")


@pytest.mark.parametrize("number", [-1, MOST + 1])
def test_what_can_not_be_written(number):
    """Below 0, and above the most."""
    with pytest.raises(ValueError, match="is not a number from 0"):
        varint(number)

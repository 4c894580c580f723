"""Percent-encoding undone in pieces, wherever they are cut."""

from __future__ import annotations

from urllib.parse import quote_plus, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.gates.http import escapes
from triplewire.gates.http.escapes import PIECE, unescaped

PARTS = st.lists(
    st.one_of(st.sampled_from([b"%41", b"%", b"%4", b"+", b"%%", b"%zz"]), st.binary(max_size=4))
)


@pytest.fixture(autouse=True, scope="module")
def small_pieces():
    """Many borders in little data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(escapes, "PIECE", 3)
        patch.setattr(escapes, "REST_S", 0)
        yield


@given(PARTS.map(b"".join))
async def test_pieces_are_decoded_as_the_whole_is(data):
    """Also what is no escape."""
    assert await unescaped(data) == unquote_to_bytes(data.replace(b"+", b" "))


@given(st.text())
async def test_what_was_encoded_comes_back(text):
    """Any text."""
    assert (await unescaped(quote_plus(text).encode())).decode() == text


@pytest.mark.parametrize("shift", range(4))
async def test_an_escape_at_the_border_of_real_pieces_is_not_cut(shift, monkeypatch):
    """The same with their real size."""
    monkeypatch.setattr(escapes, "PIECE", PIECE)
    data = b"x" * (PIECE - shift) + b"%41%42"

    assert await unescaped(data) == b"x" * (PIECE - shift) + b"AB"

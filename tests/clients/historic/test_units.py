from __future__ import annotations

import re

import pytest

from triplewire.clients.historic.units import SYMBOLS, UNIT


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("°C", "DEG_C"),
        ("%", "PERCENT"),
        ("hPa", "HectoPA"),
        ("m/s", "M-PER-SEC"),
        ("W/m2", "W-PER-M2"),
        ("mm", "MilliM"),
    ],
)
def test_common_symbols_are_known(symbol, name):
    """QUDT's names for what sensors' files write."""
    assert SYMBOLS[symbol] == UNIT + name


def test_no_symbol_has_two_meanings():
    """A symbol that stood in two places would silently be one of them."""
    from triplewire.clients.historic.units import _NAMES

    symbols = [symbol for found in _NAMES.values() for symbol in found]
    assert len(symbols) == len(set(symbols))


def test_units_are_iris():
    """Of QUDT's vocabulary, without anything that would have to be encoded."""
    assert all(re.fullmatch("[A-Za-z0-9_-]+", iri.removeprefix(UNIT)) for iri in SYMBOLS.values())

"""The broker's gate, once for each module of W3C tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from w3c.endpoints import Engine, Gate

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def gate(broker) -> Iterator[Gate]:
    """A kept connection to the SPARQL gate."""
    gate = Gate(broker.http)
    yield gate
    gate.close()


@pytest.fixture(scope="session")
def engine() -> Engine:
    """Oxigraph without a broker before it."""
    return Engine()

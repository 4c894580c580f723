from __future__ import annotations

import pytest

from triplewire.clients.historic.blank_nodes import genid


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("https://example.org/a/b#", "https://example.org/.well-known/genid/"),
        ("https://example.org", "https://example.org/.well-known/genid/"),
        ("http://localhost:8000/", "http://localhost:8000/.well-known/genid/"),
        ("urn:station:", "urn:station:.well-known/genid/"),
    ],
)
def test_blank_nodes_stand_at_the_root_of_the_base(base, expected):
    """RFC 8615 has well-known places below the host, not below a path; a base without a host has no root."""
    assert genid(base) == expected

"""What counts as one stranger."""

from __future__ import annotations

import pytest

from triplewire.broker.security.sites import site_of

HERE = "192.0.2.1"


@pytest.mark.parametrize(
    ("address", "site"),
    [
        (HERE, HERE),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
        ("::1", "::"),
        ("::ffff:192.0.2.1", HERE),
        ("fe80::1%eth0", "fe80::"),
        ("no:address", "no:address"),
    ],
)
def test_an_ipv6_address_is_its_site(address, site):
    """A host has 2^64 of them."""
    assert site_of(address) == site

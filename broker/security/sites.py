"""Addresses as those who have them: what counts as one stranger."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

_IPV6_SITE = 64  # what one subscriber of a provider has for itself (RFC 6177)


@lru_cache(maxsize=4096)
def site_of(address: str) -> str:
    """Who an address is: of IPv6 the first 64 bits, as one host has all of the rest; of IPv4 in IPv6 the IPv4 address."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed), _IPV6_SITE), strict=False).network_address)

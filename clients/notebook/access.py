"""Who asks, where the broker wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplewire.clients.addresses import Addresses
from triplewire.clients.client_credentials import ClientCredentials

if TYPE_CHECKING:
    from triplewire.clients.authorization import Authorization
    from triplewire.clients.settings import ClientSettings


def tokens_for(
    url: str, identity: str | None, authorization: Authorization | None, settings: ClientSettings | None
) -> Authorization | None:
    """Where tokens come from: an identity's credentials, as `triplewire register` keeps them, or what was given.

    Raises:
        ValueError: both were given, or an identity with a URL that is not a broker's HTTP port.
    """
    if identity is None:
        return authorization
    if authorization is not None:
        raise ValueError("identity and authorization exclude each other")
    at = Addresses.of(url)
    return ClientCredentials(identity, at.register, at.token, settings=settings)

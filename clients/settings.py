"""What every client can be told about time and size, with the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings of the clients; seconds and bytes as their names say."""

    timeout_s: float = 30.0  # one request, one connecting, or the wait for a subscription's first results
    retries: int = 3  # how often a request is repeated that the broker was too busy for (429, 503)
    retry_after_max_s: float = 30.0  # the longest wait that a broker's Retry-After can ask for
    reconnect: bool = True  # whether a lost WebSocket is opened again, and its subscriptions with it
    backoff_first_s: float = 0.1  # no wait between two attempts is shorter
    backoff_factor: float = 2.0
    backoff_longest_s: float = 30.0
    urgency: int | None = None  # of what writes (RFC 9218): from 5 on, all others go first at the broker
    ping_interval_s: float = 20.0
    ping_timeout_s: float = 120.0  # generous: a slow callback holds up the reading of pongs
    max_message_bytes: int = 64 * 1024 * 1024  # first results are one message, however many rows they have
    ca_file: str | None = None  # a PEM file of the authorities that are believed; None: the system's
    verify: bool = (
        True  # False believes any certificate: whoever is on the way can read and change everything
    )

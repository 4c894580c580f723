"""What the clients of streams can be told besides what every client can."""

from __future__ import annotations

from dataclasses import dataclass

from triplewire.clients.settings import ClientSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings(ClientSettings):
    """`ClientSettings` and those of streams; seconds and bytes as their names say."""

    # A stream says something at least every ten minutes, a `Test-Connection` where there is nothing else.
    silence_s: float = 900.0  # after so long without a byte a consumer connects again
    remembered_ids: int = 16_384  # of so many items a consumer knows that it had them
    post_items: int = 10_000  # one POST has no more items,
    post_bytes: int = 8 * 1024 * 1024  # no more bytes of them but for its first,
    post_s: float = 10.0  # and, where it is sent as the items come, takes no longer before it is answered
    buffering_s: float = 0.05  # how long a continuous publisher gathers items for one chunk
    waiting_items: int = 10_000  # as many can wait in a continuous publisher; then publishing waits

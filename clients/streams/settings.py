"""What the clients of streams can be told besides what every client can."""

from __future__ import annotations

from dataclasses import dataclass

from triplewire.clients.settings import ClientSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings(ClientSettings):
    """`ClientSettings` and those of streams; seconds and bytes as their names say."""

    # A stream says something at least every ten minutes, a `Test-Connection` where there is nothing else.
    # A server that promises one sooner is waited for three times as long, five seconds at least, and never longer than:
    silence_s: float = 900.0  # after so long without a byte a consumer connects again
    # Of so many items a consumer knows that it had them.  A relay that has just joined a stream gives what the others keep
    # for it, the last 30 s; a city's buses are 653 items a second.
    remembered_ids: int = 32_768
    # Where it goes on at another relay of a stream, it begins so many seconds earlier, and more where one of several publishers
    # had fallen silent; servers take up to 60.
    overlap_s: float = 10.0
    region: str = ""  # ours: a tracker sends us to a relay that is near
    tracker_s: float = 5.0  # how long a tracker, or a relay that it sent us to, is waited for
    # Servers (https://host:port) beside those given that a token is sent on to, where another server sends us there.
    trusted_redirects: tuple[str, ...] = ()
    post_items: int = 10_000  # one POST has no more items,
    post_bytes: int = 8 * 1024 * 1024  # no more bytes of them but for its first,
    post_s: float = 10.0  # and, where it is sent as the items come, takes no longer before it is answered
    buffering_s: float = 0.05  # how long a continuous publisher gathers items for one chunk
    waiting_items: int = 10_000  # as many can wait in a continuous publisher; then publishing waits

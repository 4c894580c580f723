"""What bounds the MCP server: each limit with its default, which `--set name=value` changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from triplewire.broker.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bytes and seconds as their names say; all are positive."""

    rows: int = 200  # of one answer, and of each change and bag that is read; a caller can ask for fewer
    answer_bytes: int = 100_000  # of one answer, as JSON
    scanned_bytes: int = 16 * 1024 * 1024  # of the broker's answer that are read, to count what was cut
    sparql_bytes: int = 100_000  # of one query or update
    request_bytes: int = 1024 * 1024  # of one request over HTTP
    subscriptions: int = 20  # of one caller
    subscription_rows: int = 10_000  # in the present answer of a subscription, which is kept here
    history_changes: int = 100  # kept of one subscription until they are read
    history_rows: int = 2_000  # in all of them
    notify_s: float = 0.1  # the least time between two updates of one resource
    wait_s: float = 20.0  # the longest that `read_subscription` waits for a change
    time_s: float = 30.0  # one call of a tool but for its waiting
    abandoned_s: float = (
        300.0  # one that nobody has read, or listens to, for so long gives its place to another
    )
    idle_s: float = 3600.0  # over HTTP: nobody has read, or listens to, a subscription for so long: it ends
    callers: int = 100  # over HTTP: different tokens at a time
    sessions: int = 100  # over HTTP: clients of revisions before 2026-07-28, and streams of updates
    connections: int = 300  # over HTTP: requests at a time
    items: int = 100  # of a stream, in one answer
    tools: int = 128  # with those that a profile makes

    @classmethod
    def of(cls, given: Iterable[str]) -> Limits:
        """The defaults, changed by `name=value`.

        Raises:
            ConfigError: there is no such limit, or the value is no positive number of its kind.
        """
        kinds: dict[str, type[int | float]] = {
            field.name: float if field.name.endswith("_s") else int for field in fields(cls)
        }
        values: dict[str, int | float] = {}
        for text in given:
            name, _, value = text.partition("=")
            if name not in kinds:
                raise ConfigError(f"{name} is not a limit; there are {', '.join(kinds)}")
            values[name] = _positive(name, value, kinds[name])
        return cls(**values)  # type: ignore[arg-type]  # of the field's own kind, as just seen to


def _positive(name: str, text: str, kind: type[int | float]) -> int | float:
    try:
        value = kind(text)
    except ValueError:
        value = 0
    if not (value > 0 and math.isfinite(value)):
        what = "seconds" if kind is float else "a whole number"
        raise ConfigError(f"{name}: expected {what} above zero, not {text!r}")
    return value

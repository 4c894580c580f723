"""What `triplewire top` shows of two readings: lines of plain text, the most important first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .prefixes import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .top import Between, Reading

_QUANTILES = (0.5, 0.9, 0.99)
_KINDS = 8
# What is counted, and the histogram that tells how long it took.
_WORK = (
    ("updates", "triplewire_updates_total", "triplewire_update_seconds"),
    ("queries", "triplewire_queries_total", "triplewire_query_seconds"),
    ("waits for the core", "triplewire_core_wait_seconds_count", "triplewire_core_wait_seconds"),
    ("work of the core", "triplewire_core_work_seconds_count", "triplewire_core_work_seconds"),
    ("journal syncs", "triplewire_journal_sync_seconds_count", "triplewire_journal_sync_seconds"),
    ("subscribes", "triplewire_subscribes_total", ""),
    ("notifications", "triplewire_notifications_total", ""),
    ("rows in them", "triplewire_notification_rows_total", ""),
    ("items of streams", "triplewire_stream_items_total", ""),
)


def lines(between: Between, url: str) -> Iterator[str]:
    """All of them."""
    now = between.now
    yield _head(now, url)
    yield ""
    yield f"{'':<20}{'a second':>10}" + "".join(f"{f'p{part * 100:g}':>10}" for part in _QUANTILES)
    for what, counter, histogram in _WORK:
        times = [between.quantile(part, histogram) if histogram else None for part in _QUANTILES]
        shown = "".join(f"{duration(each) if each is not None else '':>10}" for each in times)
        yield f"{what:<20}{number(between.rate(counter)):>10}{shown}".rstrip()
    yield f"{'errors':<20}{number(between.rate('triplewire_errors_total')):>10}{_errors(between)}"
    yield ""
    yield from _holdings(between)


def _head(now: Reading, url: str) -> str:
    state = "well" if now.value("triplewire_healthy") else "STUCK"
    releases = now.by("triplewire_build_info", "version")
    release = next(iter(releases), ("",))[0]
    uptime = duration(now.value("triplewire_uptime_seconds") or 0.0)
    return f"triplewire {escaped(release)} at {escaped(url)}: {state}, up for {uptime}"


def _errors(between: Between) -> str:
    by_status = sorted(between.rates("triplewire_errors_total", "status").items())
    return "".join(f"   {escaped(status)}: {number(rate)}" for status, rate in by_status)


def _holdings(between: Between) -> Iterator[str]:
    now = between.now

    def count(name: str) -> str:
        return number(now.value(f"triplewire_{name}"))

    limit, active = count("requests_waiting_limit"), count("queries_active")
    yield f"queue          {count('requests_waiting')} of {limit}, {active} queries active"
    held, units = count("subscriptions"), count("units")
    yield f"subscriptions  {held} to {units} queries, {count('subscriptions_away')} away"
    yield from _kinds(now)
    slow = between.rates("triplewire_slow_subscribers_total", "outcome")
    yield (
        f"subscribers    {count('subscribers')} connected; slow ones a second: "
        f"{number(slow.get('composed', 0.0))} put together, {number(slow.get('closed', 0.0))} closed"
    )
    yield f"dataset        {count('dataset_quads')} quads, {count('dataset_dead_quads')} dead"
    if now.value("triplewire_journal_bytes") is not None:
        yield _journal(now)
    if now.value("triplewire_following_connected") is not None:
        state = "connected" if now.value("triplewire_following_connected") else "NOT CONNECTED"
        yield f"leader         {state}, {duration(now.value('triplewire_following_lag_seconds') or 0.0)} behind"
    consumers, lanes = count("stream_consumers"), count("stream_lanes")
    yield (
        f"streams        {count('streams')}, {consumers} consumers in {lanes} lanes, "
        f"{count('stream_workers')} workers, {size(between.rate('triplewire_stream_items_bytes_total'))}/s"
    )
    yield _process(between)


def _kinds(now: Reading) -> Iterator[str]:
    held = now.by("triplewire_subscriptions_by_kind", "followed", "form")
    most = sorted(held.items(), key=lambda one: (-one[1], one[0]))
    for kind, subscriptions in most[:_KINDS]:
        if subscriptions:
            yield f"  {escaped(' '.join(kind)):<24}{number(subscriptions):>10}"


def _journal(now: Reading) -> str:
    def value(name: str) -> float | None:
        return now.value(f"triplewire_journal_{name}")

    free = value("free_bytes")
    room = "" if free is None else f", {size(free)} free"
    followers, behind = number(value("followers")), number(value("followers_behind_records"))
    return (
        f"journal        {size(value('bytes'))}, {size(value('unsynced_bytes'))} not synced{room}; "
        f"{followers} followers, {behind} records behind"
    )


def _process(between: Between) -> str:
    now = between.now
    busy = between.rate("process_cpu_seconds_total")
    cpu = "-" if busy is None else f"{busy * 100:.0f} %"
    files, most = number(now.value("process_open_fds")), number(now.value("process_max_fds"))
    return f"process        {cpu} of a core, {size(now.value('process_resident_memory_bytes'))}, {files} of {most} files"


def number(value: float | None) -> str:
    """With as many digits as matter; - for none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2g}"


def duration(seconds: float) -> str:
    """In the unit that suits."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def size(value: float | None) -> str:
    """Bytes, in the unit that suits; - for none."""
    if value is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.3g} {unit}" if abs(value) < 1000 else f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"

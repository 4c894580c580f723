"""The broker's figures for Prometheus: read when they are asked for, so that they cost nothing otherwise.

Names follow Prometheus' own rules: base units, `_total` for what only grows.  A label has few values, which are known
beforehand.  What no state tells is counted where it happens (`broker.meters`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client.core import GaugeMetricFamily

from triplewire.gates.relay import figures as relay_figures

from .exposition import Exposition, build_info, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client.core import Metric
    from prometheus_client.registry import Collector

# What the broker's state tells, by its place there: name, whether it only grows, and what it means.
_FIGURES: tuple[tuple[str, str, bool, str], ...] = (
    ("uptime_s", "uptime_seconds", False, "Since the broker started"),
    ("subscriptions", "subscriptions", False, "Subscriptions that are held"),
    ("away", "subscriptions_away", False, "Subscriptions of lost connections, whose clients may come back"),
    ("units", "units", False, "Different queries among the subscriptions"),
    ("sockets", "subscribers", False, "Connections that can hold subscriptions"),
    (
        "waiting",
        "requests_waiting",
        False,
        "Updates, subscribes and unsubscribes admitted and not yet answered",
    ),
    ("queue_size", "requests_waiting_limit", False, "From so many on, requests are refused"),
    ("reading", "queries_active", False, "Queries that run or wait for their turn"),
    ("busy_s", "core_busy_seconds", False, "How long the core has been at its present request"),
    ("updates", "updates_total", True, "Updates carried out"),
    ("queries", "queries_total", True, "Queries taken"),
    ("subscribes", "subscribes_total", True, "Subscriptions made"),
    ("notifications", "notifications_total", True, "Messages for subscribers"),
    ("refused", "refused_total", True, "Requests refused because too many waited"),
    ("failed", "failed_total", True, "Updates, subscribes and unsubscribes that failed"),
    ("dataset.quads", "dataset_quads", False, "Quads in the dataset"),
    ("dataset.dead", "dataset_dead_quads", False, "Deleted quads that the store still holds"),
    ("dataset.renewals", "dataset_renewals_total", True, "Renewals of the store"),
    ("dataset.renewal_s", "dataset_renewal_seconds", False, "How long the last renewal took"),
    ("dataset.swap_s", "dataset_swap_seconds", False, "How long the last renewal held up the core"),
    (
        "dataset.failures",
        "dataset_upkeep_failures_total",
        True,
        "Flushes, snapshots and renewals that failed",
    ),
    ("streams.count", "streams", False, "Streams that there are"),
    ("streams.consumers", "stream_consumers", False, "Connections that follow a stream"),
    ("streams.lanes", "stream_lanes", False, "Ways of reading a stream that consumers share"),
    ("streams.selections", "stream_selections", False, "Different filters that consumers ask for"),
    ("streams.workers", "stream_workers", False, "Processes that share the stream port"),
    ("streams.replaced", "stream_workers_replaced_total", True, "Of those that ended and were replaced"),
    ("streams.taken", "stream_items_total", True, "Items that streams have taken"),
    ("streams.duplicates", "stream_duplicates_total", True, "Items that were there already"),
    (
        "streams.conflicts",
        "stream_conflicts_total",
        True,
        "Of these, items that differ from what has their id",
    ),
    ("streams.loops", "stream_loops_total", True, "Items that came back to where they have been"),
    ("streams.batches", "stream_batches_total", True, "Batches of items that have left"),
    ("streams.kept", "stream_items_kept", False, "Items that are kept for those that come back"),
    ("streams.shed", "stream_shed_total", True, "Connections refused because there were too many"),
    ("streams.skipped", "stream_skips_total", True, "Times a consumer had too much unread"),
    ("streams.stored", "stream_items_stored_total", True, "Items whose RDF is in the store"),
    ("streams.store_failed", "stream_items_not_stored_total", True, "Items whose RDF could not be stored"),
    (
        "streams.store_missed",
        "stream_items_never_stored_total",
        True,
        "Items let go of before they were stored",
    ),
    (
        "streams.not_kept",
        "stream_histories_failing",
        False,
        "Kept streams that can't write, and take nothing",
    ),
    ("streams.store_behind", "stream_items_to_store", False, "Items that wait to be stored"),
    ("journal.last_sequence", "journal_sequence", False, "The journal's last record"),
    ("journal.first_sequence", "journal_first_sequence", False, "The journal's first record that is kept"),
    ("journal.segments", "journal_segments", False, "Files of the journal"),
    ("journal.size", "journal_bytes", False, "The size of the journal"),
    ("journal.unsynced_bytes", "journal_unsynced_bytes", False, "What a loss of power would take"),
    ("journal.appended_records", "journal_records_total", True, "Records appended since the start"),
    ("journal.appended_bytes", "journal_appended_bytes_total", True, "Bytes appended since the start"),
    ("journal.snapshots", "journal_snapshots_total", True, "Snapshots written since the start"),
    ("journal.snapshot_s", "journal_snapshot_seconds", False, "How long the last snapshot took"),
    ("journal.bytes_since_snapshot", "journal_since_snapshot_bytes", False, "Journal that no snapshot holds"),
    ("journal.free_bytes", "journal_free_bytes", False, "What is free on the journal's disk"),
    ("journal.followers", "journal_followers", False, "Brokers that follow this one"),
    (
        "journal.followers_behind",
        "journal_followers_behind_records",
        False,
        "What the slowest of them has not been sent",
    ),
    ("readers.children", "reader_processes", False, "Processes that answer queries"),
    ("readers.forks", "reader_processes_started_total", True, "Processes started to answer queries"),
    ("readers.killed", "reader_processes_killed_total", True, "Processes ended in the middle of an answer"),
    ("readers.deaths", "reader_processes_died_total", True, "Processes that ended by themselves"),
    ("following.connected", "following_connected", False, "Whether the leader is connected"),
    ("following.sequence", "following_sequence", False, "The leader's record that the dataset is at"),
    (
        "following.leader_sequence",
        "following_leader_sequence",
        False,
        "The last record that the leader told of",
    ),
    ("following.lag_s", "following_lag_seconds", False, "How far behind the leader the dataset is"),
    ("following.snapshots", "following_snapshots_total", True, "Snapshots fetched from the leader"),
    ("following.connections", "following_connections_total", True, "Connections made to the leader"),
    *relay_figures.FIGURES,
)


class Metrics:
    """All of them as text; `state` is what /health tells, `meters` are kept by whoever measures."""

    def __init__(self, state: Callable[[], dict[str, Any]], meters: tuple[Collector, ...]) -> None:
        self._state = state
        self.page = Exposition(self, meters).page

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment (the interface of a Prometheus collector)."""
        state = self._state()
        up = GaugeMetricFamily("triplewire_healthy", "Whether the core answers in time")
        up.add_metric([], float(state["status"] == "ok"))
        yield up
        yield build_info("triplewire_")
        yield from _kinds(state.get("kinds", ()))
        for place, name, grows, meaning in _FIGURES:
            value: Any = state
            for key in place.split("."):
                value = value.get(key) if isinstance(value, dict) else None
            if value is None:
                continue
            yield figure(f"triplewire_{name}", meaning, value, grows=grows)


def _kinds(kinds: Iterable[dict[str, Any]]) -> Iterator[Metric]:
    """Subscriptions and units by how they are followed and by the form of their query."""
    labels = ["followed", "form"]
    of = "by how the answer is followed and the form of its query"
    held = GaugeMetricFamily("triplewire_subscriptions_by_kind", f"Subscriptions {of}", labels=labels)
    units = GaugeMetricFamily("triplewire_units_by_kind", f"Different queries {of}", labels=labels)
    for kind in kinds:
        held.add_metric([kind["followed"], kind["form"]], float(kind["subscriptions"]))
        units.add_metric([kind["followed"], kind["form"]], float(kind["units"]))
    yield held
    yield units

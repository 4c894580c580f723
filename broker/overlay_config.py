"""The settings of overlays: those of a node, and those of a tracker; `config.py` has how they are read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayConfig:
    """This process among the nodes of an overlay, once there are `trackers`: its links, what it keeps for the others.

    Streams with `overlay` are carried; `streams_at` and `links_at` are where others reach this process, if that is not
    where it listens.
    """

    trackers: tuple[str, ...] = ()
    node: str = ""
    host: str = "127.0.0.1"
    port: int = 8002
    links_at: str = ""
    streams_at: str = ""
    region: str = ""
    capacity: int = 10_000
    links: int = 1_000
    linger_s: float = 10.0
    parcel_s: float = 0.005
    parcel_bytes: int = 64 * 1024
    kept_s: float = 60.0
    kept_bytes: int = 64 * 1024 * 1024
    backfill_s: float = 30.0
    link_bytes: int = 8 * 1024 * 1024
    sink_parcels: int = 1_000
    sign_of_life_s: float = 10.0
    ping_s: float = 2.0
    silent_s: float = 6.0
    dial_s: float = 5.0
    gap_tries: int = 5
    chains: int = 10_000
    gaps: int = 10_000
    chain_idle_s: float = 600.0
    login: str = ""
    identity: str = ""
    credentials: str = ""
    ca: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerConfig:
    """A tracker, which arranges the nodes that serve a stream: a program of its own, `triplewire tracker`.

    `registry` is the HTTP port of a broker where streams are registered in `registry_graph`; what follows it says who
    the tracker is there.
    """

    host: str = "127.0.0.1"
    port: int = 8003
    data: str = ""
    degree: int = 4
    choice: str = "detour"
    sampled: int = 32
    same_region_ms: float = 0.1
    other_region_ms: float = 70.0
    heartbeat_s: float = 3.0
    silent_s: float = 8.0
    gone_s: float = 2.0
    collect_s: float = 4.0
    debounce_s: float = 0.1
    debounce_most_s: float = 1.0
    return_s: float = 35.0
    unlinked_s: float = 10.0
    forgive_s: float = 60.0
    refusals: int = 16
    ticket_s: float = 300.0
    improve_s: float = 2.0
    improve_nodes: int = 256
    figures_s: float = 5.0
    figures_sources: int = 24
    hop_ms: float = 0.5
    nodes: int = 10_000
    client_nodes: int = 100
    capacity: int = 20_000
    streams: int = 1_000
    client_streams: int = 250
    node_streams: int = 250
    status_bytes: int = 262_144
    statuses_per_s: float = 10.0
    rejoin_s: float = 5.0
    registry: str = ""
    registry_graph: str = "urn:triplewire:registry"
    unregistered: str = "open"
    login: str = ""
    identity: str = ""
    credentials: str = ""
    ca: str = ""

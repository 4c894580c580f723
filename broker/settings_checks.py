"""What settings must be, one by one and together."""

from __future__ import annotations

import re
import types
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from .errors import ConfigError
from .stream_checks import check_streams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .config import Config, StoreConfig, TracingConfig
    from .overlay_config import RelayConfig, TrackerConfig

_AT_LEAST_ONE = (
    "scheduler.queue_size",
    "scheduler.readers",
    "follow.waiting",
    "journal.segment_bytes",
    "journal.snapshot_bytes",
    "journal.snapshots_kept",
    "stream.consumers",
    "stream.unread_bytes",
    "stream.item_bytes",
    "tracker.sampled",
    "tracker.nodes",
    "tracker.capacity",
    "tracker.streams",
    "tracker.node_streams",
    "tracker.status_bytes",
    "tracker.statuses_per_s",
    "tracker.figures_sources",
    "relay.links",
    "relay.parcel_bytes",
    "relay.link_bytes",
    "relay.sink_parcels",
    "relay.chains",
    "relay.gaps",
    "limits.sockets",
    "tracing.spans",
    "tracing.waiting",
    "limits.outbox_messages",
    "limits.nesting",
    "limits.joins",
)
_CHOICES = types.MappingProxyType(
    {
        "store.engine": ("memory", "disk"),
        "follow.updates": ("forward", "refuse"),
        "scheduler.reader_isolation": ("process", "thread"),
        "journal.fsync": ("always", "interval", "never"),
        "store.query_method": ("GET", "POST", "URL_ENCODED_POST"),
        "store.update_method": ("POST", "URL_ENCODED_POST"),
        "security.registration": ("listed", "pattern", "open", "closed"),
        "security.algorithm": ("RS256", "ES256"),
        "security.token_while_valid": ("new", "same", "refuse"),
        "stream.unread": ("skip", "close"),
        "tracker.choice": ("detour", "uniform"),
        "tracker.unregistered": ("open", "refuse"),
        "log.format": ("text", "json"),
        "log.level": ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    }
)


def check(config: Config) -> None:
    """Raises ConfigError where a setting is out of range, or two exclude each other."""
    settings = dict(_settings(config))
    for path, value in settings.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
            raise ConfigError(f"{path} must not be negative: {value}")
        if path.startswith("paths.") and not value.startswith("/"):
            raise ConfigError(f"{path} must start with /, not {value!r}")
    for path in _AT_LEAST_ONE:
        if settings[path] < 1:
            raise ConfigError(f"{path} must be at least 1")
    for path, choices in _CHOICES.items():
        if settings[path] not in choices:
            raise ConfigError(f"{path} must be one of {', '.join(choices)}, not {settings[path]!r}")
    _check_store(config.store)
    _check_network(config)
    _check_security(config)
    _check_tracing(config.tracing)
    _check_tracker(config.tracker)
    _check_relay(config.relay)
    _check_reached(config)
    check_streams(config)
    if config.follow.url and (config.store.data or config.store.query_endpoint):
        raise ConfigError(
            "follow.url excludes store.data and store.query_endpoint: a follower has its leader's dataset"
        )


def _settings(config: Config) -> Iterator[tuple[str, Any]]:
    """Each setting with its path."""
    for section in fields(config):
        table = getattr(config, section.name)
        named = (
            {f"{section.name}.{name}": each for name, each in table.items()}
            if isinstance(table, dict)
            else {}
        )
        for path, part in (named or {section.name: table}).items():
            for setting in fields(part) if part else ():
                yield f"{path}.{setting.name}", getattr(part, setting.name)


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def _check_network(config: Config) -> None:
    """Closed by default: strangers get in, and tokens cross the network in plain text, only where a setting says so."""
    security = config.security
    plain = {
        "http.host": config.http.host,
        "websocket.host": config.websocket.host,
        "stream.host": config.stream.host,
    }
    if config.tls.certificate:
        hosts = {**plain, "tls.host": config.tls.host, "tracker.host": config.tracker.host}
    else:
        plain["tracker.host"] = config.tracker.host
        hosts = plain
    if config.relay.trackers:  # there is a port for links
        hosts = {**hosts, "relay.host": config.relay.host}
        if not config.tls.certificate:
            plain["relay.host"] = config.relay.host
    for path, host in hosts.items():
        if host in _LOOPBACK:
            continue
        if not security.enabled and not security.open_to_network:
            raise ConfigError(
                f"{path} = {host!r} opens the broker to the network, and nobody has to say who they are: set "
                "security.enabled, or security.open_to_network where something in front of it keeps strangers out"
            )
        if security.enabled and path in plain and not security.plain:
            raise ConfigError(
                f"{path} = {host!r} would have tokens cross the network in plain text: leave it at 127.0.0.1 and set "
                "tls.host, or security.plain where a proxy in front speaks TLS"
            )


def _check_security(config: Config) -> None:
    security = config.security
    if bool(config.tls.certificate) != bool(config.tls.key):
        raise ConfigError("tls.certificate and tls.key belong together")
    if not security.enabled:
        return
    if not (security.directory or config.store.data or security.provider):
        raise ConfigError(
            "security.enabled needs security.directory, for its clients and keys, or security.provider"
        )
    if security.registration == "pattern" and not security.identity_pattern:
        raise ConfigError('security.registration = "pattern" needs security.identity_pattern')
    if config.store.query_endpoint and security.permissions:
        raise ConfigError(
            "security.permissions needs an embedded store: what an update of a remote endpoint changes is not known"
        )


def _check_tracing(tracing: TracingConfig) -> None:
    if tracing.endpoint and not tracing.endpoint.startswith(("http://", "https://")):
        raise ConfigError(f"tracing.endpoint must be an http or https URL, not {tracing.endpoint!r:.200}")
    if tracing.sample > 1:
        raise ConfigError(f"tracing.sample is a part of all, from 0 to 1: {tracing.sample}")


_DEGREES = range(2, 33)  # two are a ring, and who has many neighbours sends everything so many times


def _check_tracker(tracker: TrackerConfig) -> None:
    if tracker.degree not in _DEGREES:
        raise ConfigError(f"tracker.degree must be 2 to 32, not {tracker.degree}")
    if not 0 < tracker.heartbeat_s < tracker.silent_s:
        raise ConfigError("tracker.heartbeat_s must be more than 0, and less than tracker.silent_s")
    if tracker.collect_s and tracker.collect_s < tracker.heartbeat_s:
        raise ConfigError("tracker.collect_s must be at least tracker.heartbeat_s, or 0")
    if tracker.debounce_s > tracker.debounce_most_s:
        raise ConfigError("tracker.debounce_s must not be more than tracker.debounce_most_s")
    if tracker.ticket_s < 4 * tracker.heartbeat_s:
        raise ConfigError("tracker.ticket_s must be at least four times tracker.heartbeat_s")
    if not 0 < tracker.same_region_ms <= tracker.other_region_ms:
        raise ConfigError(
            "tracker.same_region_ms must be more than 0, and not more than tracker.other_region_ms"
        )
    if bool(tracker.identity) and not tracker.registry:
        raise ConfigError("tracker.identity needs tracker.registry, where it is known")


_ANY = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - nothing is bound here


def _check_reached(config: Config) -> None:
    """An address that stands for all of a machine's is none that others could go to."""
    relay = config.relay
    if not relay.trackers:
        return
    streams = ("tls.host", config.tls.host) if config.tls.certificate else ("stream.host", config.stream.host)
    for (path, host), setting, given in (
        (("relay.host", relay.host), "relay.links_at", relay.links_at),
        (streams, "relay.streams_at", relay.streams_at),
    ):
        if host in _ANY and not given:
            raise ConfigError(f"{setting} must say where others reach this machine, as {path} is {host!r}")


_NODE = re.compile(r"[A-Za-z0-9_.-]{0,64}")


def _check_relay(relay: RelayConfig) -> None:
    for path, urls, schemes in (
        ("relay.trackers", relay.trackers, ("http://", "https://")),
        ("relay.links_at", (relay.links_at or "ws://",), ("ws://", "wss://")),
        ("relay.streams_at", (relay.streams_at or "http://",), ("http://", "https://")),
    ):
        for url in urls:
            if not url.startswith(schemes):
                raise ConfigError(f"{path} must be {' or '.join(schemes)} and so on, not {url!r:.200}")
    if not _NODE.fullmatch(relay.node):
        raise ConfigError(
            f"relay.node must be up to 64 letters, digits, '_', '-' and '.', not {relay.node!r:.80}"
        )
    if not 0 < relay.ping_s < relay.silent_s:
        raise ConfigError("relay.ping_s must be more than 0, and less than relay.silent_s")
    if not relay.dial_s:
        raise ConfigError("relay.dial_s must be more than 0")
    if bool(relay.login) != bool(relay.identity):
        raise ConfigError("relay.login and relay.identity belong together")


def _check_store(store: StoreConfig) -> None:
    if bool(store.query_endpoint) != bool(store.update_endpoint):
        raise ConfigError("store.query_endpoint and store.update_endpoint belong together")
    if store.engine == "disk" and not store.data:
        raise ConfigError('store.engine = "disk" needs a directory: store.data')
    if store.query_endpoint and store.data:
        raise ConfigError("store.data and store.query_endpoint exclude each other: one store, one place")

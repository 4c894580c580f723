"""What settings must be, one by one and together."""

from __future__ import annotations

import types
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from .errors import ConfigError
from .stream_checks import check_streams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .config import Config, StoreConfig, TracingConfig

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
    hosts = {**plain, "tls.host": config.tls.host} if config.tls.certificate else plain
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


def _check_store(store: StoreConfig) -> None:
    if bool(store.query_endpoint) != bool(store.update_endpoint):
        raise ConfigError("store.query_endpoint and store.update_endpoint belong together")
    if store.engine == "disk" and not store.data:
        raise ConfigError('store.engine = "disk" needs a directory: store.data')
    if store.query_endpoint and store.data:
        raise ConfigError("store.data and store.query_endpoint exclude each other: one store, one place")

"""Every setting: frozen dataclasses, one a section, and how they are read.

Defaults < configuration file < environment (`TRIPLEWIRE_SCHEDULER__QUEUE_SIZE`) < command line (`--set
scheduler.queue_size=10`, `--set streams.events.window_s=0.5`).  SEPA's engine.jpar and endpoint.jpar stand between the defaults and the file.  An unknown
key is refused by its path.  `conf/broker.toml` shows each setting with its default; a test holds the two together.
Units are in the names (`_s` seconds, `_bytes` bytes); each part of the broker is given its own section only.
"""

from __future__ import annotations

import os
import tomllib
import types
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ConfigError
from .jpar import endpoint_settings, engine_settings
from .overlay_config import RelayConfig, TrackerConfig
from .settings_checks import check

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

T = TypeVar("T")

ENVIRONMENT_PREFIX = "TRIPLEWIRE_"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpConfig:
    """The HTTP port: SPARQL, Graph Store, server-sent events, WebSocket at the subscribe path, the page."""

    host: str = "127.0.0.1"
    port: int = 8000
    keep_alive_s: float = 60.0
    header_timeout_s: float = 30.0
    body_timeout_s: float = 60.0
    gzip_bytes: int = 4096
    event_ping_s: float = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSocketConfig:
    """The WebSocket port, and the WebSocket side of the HTTP port."""

    host: str = "127.0.0.1"
    port: int = 9000
    ping_interval_s: float = 30.0
    ping_timeout_s: float = 120.0
    open_timeout_s: float = 10.0
    close_timeout_s: float = 5.0
    compression: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """HTTPS and WSS, on ports of their own, once a certificate is given; read again on SIGHUP."""

    certificate: str = ""
    key: str = ""
    host: str = "127.0.0.1"
    https_port: int = 8443
    wss_port: int = 9443
    stream_port: int = 8444
    handshake_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfig:
    """Who may do what: registration, tokens (RFC 6749), an identity provider of one's own, permissions."""

    enabled: bool = False
    open_to_network: bool = False
    plain: bool = False
    directory: str = ""
    permissions: str = ""
    issuer: str = ""
    audience: str = "triplewire"
    registration: str = "listed"
    identity_pattern: str = ""
    reregistration: bool = False
    test_identity: bool = False
    clients: int = 100_000
    algorithm: str = "RS256"
    key_s: float = 90 * 24 * 3600.0
    token_s: float = 3600.0
    token_while_valid: str = "new"  # noqa: S105 - no password
    renew_s: float = 60.0
    stranger_s: float = 30.0
    tokens_known: int = 10_000
    attempts: int = 60
    secret_kib: int = 19_456
    secret_rounds: int = 2
    provider: str = ""
    provider_jwks: str = ""
    provider_ca: str = ""
    provider_audience: str = ""
    provider_algorithms: tuple[str, ...] = ("RS256", "ES256")
    provider_client_claim: str = ""
    provider_groups_claim: str = "groups"
    provider_leeway_s: float = 10.0
    provider_cache_s: float = 300.0
    provider_timeout_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PathsConfig:
    """Where things are; an alias of each under /secure is always there."""

    query: str = "/query"
    update: str = "/update"
    sparql: str = "/sparql"
    graph_store: str = "/rdf-graph-store"
    subscribe: str = "/subscribe"
    journal: str = "/journal"
    register: str = "/oauth/register"
    token: str = "/oauth/token"  # noqa: S105 - no password
    revoke: str = "/oauth/revoke"
    keys: str = "/oauth/jwks"
    clients: str = "/oauth/clients"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """The dataset: in memory, kept by a journal under `data`, or behind a remote SPARQL 1.1 endpoint."""

    data: str = ""
    engine: str = "memory"
    flush_s: float = 30.0
    query_endpoint: str = ""
    update_endpoint: str = ""
    endpoint_timeout_s: float = 30.0
    endpoint_connections: int = 16
    query_method: str = "POST"
    update_method: str = "POST"
    endpoint_routing: bool = True
    endpoint_graphs_apart: bool = False
    endpoint_evaluations: int = 4
    endpoint_solutions: int = 1000
    endpoint_unsettled: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalConfig:
    """How safe, how large and how old; sizes and ages are of files that a snapshot has made dispensable.

    `fsync` says when what was appended is made safe from a loss of power: before each answer ("always"), every
    `fsync_s` ("interval"), or when the system likes ("never").  The death of the process loses nothing in any case.
    """

    fsync: str = "interval"
    fsync_s: float = 1.0
    segment_bytes: int = 64 * 1024 * 1024
    keep_bytes: int = 1024 * 1024 * 1024
    keep_s: float = 7 * 24 * 3600.0
    snapshot_bytes: int = 96 * 1024 * 1024
    snapshots_kept: int = 2
    followers: int = 16
    beat_s: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowConfig:
    """Another broker whose dataset this one follows; `updates` are forwarded to it, or refused."""

    url: str = ""
    identity: str = ""
    credentials: str = ""
    ca: str = ""
    updates: str = "forward"
    record_bytes: int = 1024 * 1024 * 1024
    waiting: int = 256
    silence_s: float = 15.0
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlConfig:
    """How SPARQL texts are read."""

    base_iri: str = "http://localhost/"
    prefixes: dict[str, str] = field(
        default_factory=lambda: {
            "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
            "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
            "owl": "http://www.w3.org/2002/07/owl#",
            "xsd": "http://www.w3.org/2001/XMLSchema#",
        }
    )
    union_default_graph: bool = False
    service_hosts: tuple[str, ...] = ()
    load_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfig:
    """The FIFO in front of the core, and what answers queries beside it."""

    queue_size: int = 1000
    timeout_s: float = 60.0
    bulk_wait_s: float = 5.0
    readers: int = 4
    reader_queue_size: int = 1000
    reader_isolation: str = "process"
    reader_idle_s: float = 30.0
    reader_pending_quads: int = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """What one request, connection or the whole broker may use."""

    body_bytes: int = 64 * 1024 * 1024
    bodies_bytes: int = 512 * 1024 * 1024
    message_bytes: int = 4 * 1024 * 1024
    query_chars: int = 1024 * 1024
    nesting: int = 200
    operators: int = 1000
    joins: int = 64
    query_s: float = 60.0
    query_bytes: int = 1024 * 1024 * 1024
    answer_bytes: int = 1024 * 1024 * 1024
    answer_rows: int = 10_000_000
    sockets: int = 10_000
    subscriptions: int = 1_000_000
    subscriptions_per_socket: int = 10_000
    outbox_messages: int = 1000
    outbox_bytes: int = 8 * 1024 * 1024
    outbox_composed_bytes: int = 64 * 1024 * 1024
    resume_s: float = 30.0
    resume_messages: int = 1000
    resume_rows: int = 10_000
    resumable: int = 10_000
    send_s: float = 60.0
    client_requests_s: float = 2000.0
    client_burst: int = 4000
    client_queries: int = 32
    client_subscriptions: int = 100_000
    client_sockets: int = 2000
    client_bytes_s: float = 0.0
    address_requests_s: float = 0.0
    address_burst: int = 0
    address_queries: int = 0
    address_subscriptions: int = 0
    address_sockets: int = 0
    address_bytes_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamGateConfig:
    """The stream port: connections of all streams together.  The streams themselves are `StreamConfig`s."""

    host: str = "127.0.0.1"
    port: int = 8001
    workers: int = 0
    keep_alive_s: float = 60.0
    header_timeout_s: float = 30.0
    body_timeout_s: float = 60.0
    body_bytes: int = 16 * 1024 * 1024
    item_bytes: int = 4 * 1024 * 1024
    consumers: int = 100_000
    unread_bytes: int = 1024 * 1024
    unread: str = "skip"
    poll_s: float = 43_200.0
    silence_s: float = 300.0
    selections: int = 1000
    streams: int = 1000


_KEPT = 2_048
_KEPT_OVERLAY = 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamConfig:
    """One stream: what it is made of, how long its items wait to leave together, and what is kept of them.

    `kind` says which of the other settings mean something: `query`, `jsap`, `id`, `bindings` and the two lists of
    graphs to a subscription; `of` to a join and a filter; `only` and `python` to a filter; `url` and what follows it
    to a relay; `overlay` to what is published; `store_graph` to all.  With `keep`, blank nodes get IRIs in the store
    (RDF 1.1 Concepts, 3.5), so that what waited for it at a crash can be stored at the next start; without, that is lost.
    `kept_items` is what `history_items` comes to.
    """

    kind: str = "publish"
    title: str = ""
    overlay: bool = False
    source_id: str = ""
    window_s: float = 0.0
    window_most_s: float = 1.0
    history_items: int = 0
    history_bytes: int = 16 * 1024 * 1024
    history_s: float = 0.0
    keep: bool = False
    level: int = 6
    store_graph: str = ""
    query: str = ""
    jsap: str = ""
    id: str = ""
    bindings: dict[str, str] = field(default_factory=dict)
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    python: str = ""
    url: str = ""
    login: str = ""
    identity: str = ""
    credentials: str = ""
    ca: str = ""

    @property
    def kept_items(self) -> int:
        """How many items are kept: in streams with `overlay` for who comes back to another relay, some seconds earlier."""
        return self.history_items or (_KEPT_OVERLAY if self.overlay else _KEPT)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """What the broker says on standard error."""

    level: str = "INFO"
    format: str = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingConfig:
    """Where spans of writes go (OpenTelemetry); nowhere, and at no cost, without an `endpoint`."""

    endpoint: str = ""
    sample: float = 1.0
    service: str = "triplewire"
    spans: int = 100
    waiting: int = 4096
    interval_s: float = 2.0
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings."""

    http: HttpConfig = field(default_factory=HttpConfig)
    websocket: WebSocketConfig = field(default_factory=WebSocketConfig)
    tls: TlsConfig = field(default_factory=TlsConfig)
    security: SecurityConfig = field(default_factory=SecurityConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    journal: JournalConfig = field(default_factory=JournalConfig)
    follow: FollowConfig = field(default_factory=FollowConfig)
    sparql: SparqlConfig = field(default_factory=SparqlConfig)
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    stream: StreamGateConfig = field(default_factory=StreamGateConfig)
    streams: dict[str, StreamConfig] = field(default_factory=lambda: {"events": StreamConfig()})
    tracker: TrackerConfig = field(default_factory=TrackerConfig)
    relay: RelayConfig = field(default_factory=RelayConfig)
    log: LogConfig = field(default_factory=LogConfig)
    tracing: TracingConfig = field(default_factory=TracingConfig)


def load(
    path: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    overrides: Iterable[str] = (),
    engine_jpar: Path | None = None,
    endpoint_jpar: Path | None = None,
) -> Config:
    """The settings; `overrides` are `section.key=value`.

    Raises:
        ConfigError: a file can't be read, a key is unknown, a value is of the wrong kind or out of range.
    """
    layers: list[Mapping[str, Any]] = []
    if engine_jpar is not None:
        layers.append(engine_settings(engine_jpar))
    if endpoint_jpar is not None:
        layers.append(endpoint_settings(endpoint_jpar))
    if path is not None:
        layers.append(_read(path))
    layers.append(_from_environment(os.environ if environment is None else environment))
    layers.extend(_from_override(override) for override in overrides)
    config = build(Config, reduce(_merge, layers, typing.cast("Mapping[str, Any]", {})))
    check(config)
    return config


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, value in sorted(environment.items()):
        section, separator, key = name.removeprefix(ENVIRONMENT_PREFIX).lower().partition("__")
        if name.startswith(ENVIRONMENT_PREFIX) and separator:
            _put(table, [section, *key.rsplit("__", 1)], value)
    return table


def _from_override(override: str) -> dict[str, Any]:
    path, separator, value = override.partition("=")
    section, dot, key = path.strip().partition(".")
    if not separator or not dot:
        raise ConfigError(f"{override}: expected section.key=value")
    table: dict[str, Any] = {}
    _put(table, [section, *key.rsplit(".", 1)], value)
    return table


def _put(table: dict[str, Any], path: list[str], value: str) -> None:
    """Put a value where its path leads: section and key, or section, name and key (streams.events.window_s)."""
    *above, key = path
    for name in above:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{'.'.join(path)} can't be set beside {'.'.join(above)}")
    table[key] = value


def _merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        merged[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def build(cls: type[T], table: Any, path: str = "") -> T:
    """A settings dataclass from a table, whose values may be text (environment, command line).

    Raises:
        ConfigError: with the path of the offending key.
    """
    if not isinstance(table, dict):
        raise ConfigError(f"{path or 'the configuration'} must be a table")
    assert is_dataclass(cls)
    hints = typing.get_type_hints(cls)
    known = {setting.name for setting in fields(cls)}
    for key in table:
        if key not in known:
            raise ConfigError(f"{_join(path, key)} is not a setting; there are {', '.join(sorted(known))}")
    values = {key: _value(hints[key], value, _join(path, key)) for key, value in table.items()}
    for key, value in values.items():
        if isinstance(value, dict):  # a table adds to its default: nobody means to lose rdf: by declaring ex:
            values[key] = getattr(cls(), key) | value
    return typing.cast("T", cls(**values))


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else str(key)


def _value(kind: Any, value: Any, path: str) -> Any:
    if is_dataclass(kind):
        return build(typing.cast("type[Any]", kind), value, path)
    origin = typing.get_origin(kind)
    if origin is tuple:
        return _strings(value, path)
    if origin is dict:
        kind_of_each = typing.get_args(kind)[1]
        return _tables(kind_of_each, value, path) if is_dataclass(kind_of_each) else _table(value, path)
    if isinstance(value, str) and kind is not str:
        return _parse(kind, value, path)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise ConfigError(f"{path} must be {_KINDS[kind]}, not {value!r}")
    return value


_KINDS: types.MappingProxyType[type, str] = types.MappingProxyType(
    {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
)


def _parse(kind: Any, text: str, path: str) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}[text.strip().lower()]
        return kind(text.strip())
    except (KeyError, ValueError) as error:
        raise ConfigError(f"{path} must be {_KINDS[kind]}, not {text!r}") from error


def _strings(value: Any, path: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ConfigError(f"{path} must be a list of texts, not {value!r}")


def _table(value: Any, path: str) -> dict[str, str]:
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        value = {name.strip(): text.strip() for name, _, text in pairs}
    if isinstance(value, dict) and all(isinstance(part, str) for part in value.values()):
        return dict(value)
    raise ConfigError(f"{path} must be a table of texts, not {value!r}")


def _tables(kind: Any, value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{path} must be a table of tables: [{path}.NAME]")
    return {name: build(kind, table, _join(path, name)) for name, table in value.items()}

"""What the settings of streams must be: each stream on its own, and all together."""

from __future__ import annotations

import re
import types
from typing import TYPE_CHECKING

from .errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .config import Config, StreamConfig

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^<>\"{}|^`\\\x00-\x20]*\Z")
_RESERVED = frozenset({".", "..", "streams", "secure"})
# What a stream of each kind needs: one of these; the settings of other kinds mean nothing to it.
_NEEDED: Mapping[str, tuple[str, ...]] = types.MappingProxyType(
    {
        "publish": (),
        "none": (),
        "subscription": ("query", "jsap"),
        "join": ("of",),
        "filter": ("only", "python"),
        "relay": ("url",),
    }
)
_OWN: Mapping[str, tuple[str, ...]] = types.MappingProxyType(
    {
        "publish": ("overlay",),
        "subscription": ("query", "jsap", "id", "bindings", "default_graphs", "named_graphs"),
        "join": ("of",),
        "filter": ("of", "only", "python"),
        "relay": ("url", "login", "identity", "credentials", "ca"),
    }
)
_LEVELS = range(1, 10)  # of zlib


def is_stream_name(name: str) -> bool:
    """Whether a stream can be called so: the name is part of URLs, and must be none of the broker's own paths."""
    return _NAME.fullmatch(name) is not None and name not in _RESERVED


def check_streams(config: Config) -> None:
    """Raises ConfigError where a stream is not right, or streams and other settings do not go together."""
    there = {name for name, stream in config.streams.items() if stream.kind != "none"}
    if len(there) > config.stream.streams:
        raise ConfigError(f"streams: there are {len(there)}, and stream.streams = {config.stream.streams}")
    for name, stream in config.streams.items():
        check_stream(name, stream)
        check_among(name, stream, config, there)
        if stream.overlay and stream.store_graph and config.store.data and not stream.keep:
            # The store outlives the process, and the stream would not know what of the others' items it has.
            raise ConfigError(f"streams.{name}.overlay and store_graph need keep where there is store.data")
    _check_circles(config.streams)


def check_among(name: str, stream: StreamConfig, config: Config, others: Collection[str]) -> None:
    """Raises ConfigError where a stream does not go together with the `others`, or with other settings."""
    for other in stream.of:
        if other not in others:
            raise ConfigError(f"streams.{name}.of: there is no stream {other!r}")
    if stream.overlay and not config.relay.trackers:
        raise ConfigError(f"streams.{name}.overlay needs somebody who knows the others: relay.trackers")
    if stream.keep and not config.store.data:
        raise ConfigError(f"streams.{name}.keep needs a directory: store.data")
    if stream.store_graph and config.follow.url and config.follow.updates == "refuse":
        raise ConfigError(f'streams.{name}.store_graph and follow.updates = "refuse" exclude each other')


def check_stream(name: str, stream: StreamConfig) -> None:
    """Raises ConfigError where the settings of one stream do not go together."""
    path = f"streams.{name}"
    if not is_stream_name(name):
        raise ConfigError(
            f"{path}: the name is part of URLs: letters, digits, '_', '-', '.', and none of the broker's"
        )
    _check_kind(path, stream)
    if stream.query and (stream.jsap or stream.id):
        raise ConfigError(f"{path}.query and {path}.jsap exclude each other")
    if bool(stream.jsap) != bool(stream.id):
        raise ConfigError(f"{path}.jsap and {path}.id belong together")
    if bool(stream.login) != bool(stream.identity):
        raise ConfigError(f"{path}.login and {path}.identity belong together")
    if stream.level not in _LEVELS:
        raise ConfigError(f"{path}.level must be 1 to 9, not {stream.level}")
    if stream.window_s > stream.window_most_s:
        raise ConfigError(f"{path}.window_s must not be more than {path}.window_most_s")
    if stream.store_graph and not _ABSOLUTE.match(stream.store_graph):
        raise ConfigError(f"{path}.store_graph must be an absolute IRI, not {stream.store_graph!r}")
    if stream.history_items < 0 or stream.history_bytes < 1:
        raise ConfigError(f"{path}.history_bytes must be at least 1, and {path}.history_items 0 or more")


def _check_kind(path: str, stream: StreamConfig) -> None:
    if stream.kind not in _NEEDED:
        raise ConfigError(f"{path}.kind must be one of {', '.join(_NEEDED)}, not {stream.kind!r}")
    needed = _NEEDED[stream.kind]
    if needed and not any(getattr(stream, setting) for setting in needed):
        raise ConfigError(f"{path}: a {stream.kind} needs {' or '.join(needed)}")
    if stream.kind == "filter" and not stream.of:
        raise ConfigError(f"{path}: a filter needs of")
    foreign = {setting for settings in _OWN.values() for setting in settings} - {*_OWN.get(stream.kind, ())}
    for setting in sorted(foreign):
        if getattr(stream, setting):
            raise ConfigError(f"{path}.{setting} means nothing to a stream of the kind {stream.kind}")


def _check_circles(streams: Mapping[str, StreamConfig]) -> None:
    """A stream that is made of itself, by whatever detour, would never come to rest."""
    for name in streams:
        seen: set[str] = set()
        ahead = [*streams[name].of]
        while ahead:
            if (other := ahead.pop()) == name:
                raise ConfigError(f"streams.{name}.of: the stream would be made of itself")
            if other not in seen:
                seen.add(other)
                ahead += streams[other].of

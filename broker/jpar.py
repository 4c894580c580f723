"""SEPA's engine.jpar and endpoint.jpar as settings: wrapped in `parameters` (up to 0.13) or not (later).

What has a counterpart here is taken over, what SEPA itself never used is passed over, and what would change who may do
what is refused: a broker that was told to be secure must not start open.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from .errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

log = logging.getLogger("triplewire.broker.jpar")

_METHODS = {"GET": "GET", "POST": "POST", "URL_ENCODED_POST": "URL_ENCODED_POST"}


def _same(value: Any) -> Any:
    return value


def _seconds(milliseconds: Any) -> float:
    return float(milliseconds) / 1000


# SEPA's path -> our section, key, and how the value is changed.
_ENGINE: Mapping[str, tuple[str, str, Callable[[Any], Any]]] = {
    "scheduler.queueSize": ("scheduler", "queue_size", _same),
    "scheduler.timeout": ("scheduler", "timeout_s", _seconds),
    "processor.queryTimeout": ("limits", "query_s", _seconds),
    "processor.updateTimeout": ("store", "endpoint_timeout_s", _seconds),
    "processor.maxConcurrentRequests": ("scheduler", "readers", _same),
    "gates.paths.query": ("paths", "query", _same),
    "gates.paths.update": ("paths", "update", _same),
    "gates.paths.subscribe": ("paths", "subscribe", _same),
    "gates.ports.http": ("http", "port", _same),
    "gates.ports.ws": ("websocket", "port", _same),
}
# Read by SEPA and without a meaning here, or never read by SEPA at all.
_PASSED_OVER = frozenset(
    {
        "processor.reliableUpdate",  # an update is always answered after its notifications are queued
        "spu.timeout",
        "gates.paths.unsubscribe",
        "gates.paths.register",
        "gates.paths.tokenRequest",
        "gates.paths.securePath",
        "gates.paths.secure",
        "gates.ports.https",
        "gates.ports.wss",
        "gates.security.type",
        "acl.type",
        "acl.mode",
        "acl.path",
        "acl.queryPath",
        "acl.updatePath",
    }
)
_MUST_BE_OFF = ("gates.security.enabled", "gates.security.tls", "acl.enabled")


def engine_settings(path: Path) -> dict[str, dict[str, Any]]:
    """The settings of an engine.jpar.

    Raises:
        ConfigError: it can't be read, or asks for security, which these settings can't give.
    """
    table: dict[str, dict[str, Any]] = {}
    for name, value in _leaves(_read(path)).items():
        if name in _MUST_BE_OFF:
            if _is_true(value):
                raise ConfigError(f"{path}: {name} is true, and this broker has no such protection yet")
        elif name in _ENGINE:
            section, key, change = _ENGINE[name]
            table.setdefault(section, {})[key] = _changed(change, value, f"{path}: {name}")
        elif name not in _PASSED_OVER and not name.startswith(("gates.paths.extensions", "dsConfig")):
            log.warning("! %s: %s is not a setting of SEPA's; it is passed over", path, name)
    return table


def endpoint_settings(path: Path) -> dict[str, dict[str, Any]]:
    """The settings of an endpoint.jpar; an in-memory endpoint is the embedded store.

    Raises:
        ConfigError: it can't be read, or lacks what a remote endpoint needs.
    """
    document = _read(path)
    protocol = document.get("sparql11protocol")
    if not isinstance(protocol, dict):
        raise ConfigError(f"{path}: sparql11protocol must be an object")
    host = protocol.get("host") or document.get("host") or "in-memory"
    scheme = str(protocol.get("protocol", "jena-api")).lower()
    if host == "in-memory" or scheme.replace("_", "-") == "jena-api":
        return {}
    if scheme not in {"http", "https"}:
        raise ConfigError(f"{path}: sparql11protocol.protocol must be http or https, not {scheme}")
    store: dict[str, Any] = {}
    for operation in ("query", "update"):
        found = protocol.get(operation)
        if not isinstance(found, dict) or not isinstance(found.get("path"), str):
            raise ConfigError(f"{path}: sparql11protocol.{operation}.path must be a text")
        method = str(found.get("method", "POST")).upper()
        if method not in _METHODS:
            raise ConfigError(
                f"{path}: sparql11protocol.{operation}.method must be one of {', '.join(_METHODS)}"
            )
        place = found["path"].strip()
        port = f":{protocol['port']}" if protocol.get("port") not in {None, -1} else ""
        store[f"{operation}_endpoint"] = f"{scheme}://{host}{port}/{place.lstrip('/')}"
        store[f"{operation}_method"] = method
    return {"store": store}


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if isinstance(document, dict) and isinstance(document.get("parameters"), dict):
        document = document["parameters"]
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: must be a JSON object")
    return document


def _leaves(table: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{path}.{key}" if path else key
        found |= _leaves(value, name) if isinstance(value, dict) else {name: value}
    return found


def _is_true(value: Any) -> bool:
    return value is True or str(value).strip().lower() == "true"


def _changed(change: Callable[[Any], Any], value: Any, where: str) -> Any:
    try:
        return change(value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where} must be a number, not {value!r}") from error

"""One spelling out of many: what older files and other clients write becomes the present form.

- Until March 2018 everything stood under `parameters`: `host`, `ports`, `paths`, `methods`, `formats`, `security`.
- Then OAuth's paths stood under `sparql11seprotocol.security`, and `securePath` went before the path of wss.
- The names of `graphs` have hyphens or underscores, and one graph needs no array.
- `#include` is documented, `include` is what the code reads.

A member in the present spelling wins over the same one in an older spelling.  Members that nobody knows stay.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from .shape import Members, members, strings, text

Document: TypeAlias = dict[str, Any]

GRAPHS = ("default-graph-uri", "named-graph-uri", "using-graph-uri", "using-named-graph-uri")


def present(document: Members) -> Document:
    """The document in the present spelling.

    Raises:
        ProfileError: a member that has to be respelled is not of its shape.
    """
    top = {name: value for name, value in document.items() if name != "parameters"}
    spelled = {**_from_parameters(members(document, "parameters")), **top}
    _move_security(spelled)
    _move_include(spelled)
    _respell_graphs(spelled)
    for kind in ("updates", "queries"):
        if isinstance(spelled.get(kind), dict):
            spelled[kind] = {name: _entry(entry) for name, entry in spelled[kind].items()}
    return spelled


def _entry(entry: Any) -> Any:
    """An entry in the present spelling; whatever else it is, its reader will say what is wrong with it."""
    if not isinstance(entry, dict):
        return entry
    spelled = dict(entry)
    _respell_graphs(spelled)
    return spelled


def _respell_graphs(holder: Document) -> None:
    graphs = holder.get("graphs")
    if isinstance(graphs, dict):
        holder["graphs"] = dict(_graphs(name, value) for name, value in graphs.items())


def _graphs(name: str, value: Any) -> tuple[str, Any]:
    spelled = name.strip().replace("_", "-")
    if spelled not in GRAPHS:
        return name, value
    return spelled, [value] if isinstance(value, str) else value


def _move_include(document: Document) -> None:
    found: list[str] = []
    for name in ("include", "#include"):
        found += strings(document, name) or ()
        document.pop(name, None)
    if found:
        document["include"] = found


def _from_parameters(old: Members) -> Document:
    """The members of the first years in the present spelling."""
    if not old:
        return {}
    ports, paths = members(old, "ports", "parameters"), members(old, "paths", "parameters")
    moved = ("ports", "paths", "methods", "formats", "security")
    document: Document = {name: value for name, value in old.items() if name not in moved}
    if any(name in old for name in moved):
        document.setdefault("sparql11protocol", _old_protocol(old, ports, paths))
        document.setdefault("sparql11seprotocol", _old_se_protocol(ports, paths))
        oauth = _old_oauth(document.get("host"), ports.get("https"), paths)
        security = dict(members(old, "security", "parameters"))
        document.setdefault("oauth", {**oauth, **_given(authentication=security or None)})
    return document


def _old_protocol(old: Members, ports: Members, paths: Members) -> Document:
    methods, formats = members(old, "methods", "parameters"), members(old, "formats", "parameters")
    operations = {
        name: _given(path=paths.get(name), method=methods.get(name), format=formats.get(name))
        for name in ("query", "update")
    }
    return {"protocol": "http", **_given(port=ports.get("http")), **operations}


def _old_se_protocol(ports: Members, paths: Members) -> Document:
    path = text(paths, "subscribe", "parameters.paths") or "/subscribe"
    secure = text(paths, "securePath", "parameters.paths") or ""
    return {
        "protocol": "ws",
        "availableProtocols": {
            "ws": _given(port=ports.get("ws"), path=path, scheme="ws"),
            "wss": _given(port=ports.get("wss"), path=secure + path, scheme="wss"),
        },
    }


def _move_security(document: Document) -> None:
    """OAuth's members out of the SE protocol, where they stood in 2018."""
    protocol = document.get("sparql11seprotocol")
    if not isinstance(protocol, dict) or not protocol.get("security"):
        return
    security = members(protocol, "security", "sparql11seprotocol")
    moved = dict(protocol)
    moved.pop("security")
    secure = text(security, "securePath", "sparql11seprotocol.security") or ""
    available = dict(members(protocol, "availableProtocols", "sparql11seprotocol"))
    wss = dict(members(available, "wss", "sparql11seprotocol.availableProtocols"))
    path = wss.get("path", "/subscribe")
    if secure and isinstance(path, str) and not path.startswith(secure):
        available["wss"] = {**wss, "path": secure + path}
        moved["availableProtocols"] = available
    document["sparql11seprotocol"] = moved
    old = _old_oauth(document.get("host"), security.get("port"), security)
    document["oauth"] = {**old, "authentication": dict(security), **members(document, "oauth")}


def _old_oauth(host: Any, port: Any, paths: Members) -> Document:
    """Registration and tokens were on HTTPS, port 8443, beside the data."""

    def url(*names: str) -> str | None:
        found = next((paths[name] for name in names if isinstance(paths.get(name), str)), None)
        if found is None or "://" in found or not host:
            return found
        return f"https://{host}:{port or 8443}/{found.strip().lstrip('/')}"

    return _given(register=url("register", "registration"), tokenRequest=url("tokenRequest"))


def _given(**found: Any) -> Document:
    return {name: value for name, value in found.items() if value is not None}

"""What could reach the network from inside Oxigraph: SERVICE and LOAD are allowed by host, or refused.

A request that makes the broker fetch an address of the sender's choice reaches what the sender can't (request
forgery), so nothing is allowed unless a setting names its host.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .errors import UnsupportedOperation
from .tokens import splice, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .config import SparqlConfig
    from .tokens import Token

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Oxigraph reads `SERVICEex:a {` and `LOADex:a` as a keyword and a name, where the standard reads one name.
_GLUED_SERVICE = re.compile(r"(?:A|TRUE|FALSE)*SERVICE(?:SILENT)?.*:", re.IGNORECASE)
_GLUED_LOAD = re.compile(r"LOAD(?:SILENT)?.*:", re.IGNORECASE)


def allow_remote(sparql: str, config: SparqlConfig) -> str:
    """The text with LOAD and SERVICE allowed by host; what would reach elsewhere is refused.

    `LOAD SILENT` of a host that is not allowed is a load that failed silently: it becomes an empty operation.

    Raises:
        UnsupportedOperation: SERVICE or LOAD names a host that is not in the settings.
    """
    upper = sparql.upper()  # a search that ignores case takes ten times as long
    if "SERVICE" not in upper and "LOAD" not in upper:
        return sparql
    found = list(tokens(sparql))
    changes: list[tuple[int, int, str]] = []
    for place, token in enumerate(found):
        if token.is_word("SERVICE"):
            _check_service(_target(found, place), config.service_hosts)
        elif token.is_word("LOAD"):
            changes += _load(found, place, config.load_hosts)
        elif token.kind == "pname":
            if _is_glued_service(found, place):
                _check_service(token, config.service_hosts)
            elif _is_glued_load(found, place) and not _allowed(token, config.load_hosts):
                raise _load_refused(token)
    return splice(sparql, changes)


def _check_service(target: Token | None, hosts: Iterable[str]) -> None:
    if not _allowed(target, hosts):
        raise UnsupportedOperation(
            f"SERVICE {target.text if target else ''} is not allowed here (sparql.service_hosts)"
        )


def _target(found: list[Token], place: int) -> Token | None:
    for token in found[place + 1 : place + 3]:
        if not token.is_word("SILENT"):
            return token
    return None


def _is_glued_service(found: list[Token], place: int) -> bool:
    """A name before a brace, and not that of GRAPH."""
    return (
        _GLUED_SERVICE.match(found[place].text) is not None
        and place + 1 < len(found)
        and found[place + 1].text == "{"
        and not found[place - 1].is_word("GRAPH")
    )


def _is_glued_load(found: list[Token], place: int) -> bool:
    """A name where an operation begins: first, after a semicolon, or after a declaration."""
    if _GLUED_LOAD.match(found[place].text) is None:
        return False
    if place == 0 or found[place - 1].text == ";" or found[place - 1].kind == "string":
        return True
    declared = place > 1 and (found[place - 2].is_word("BASE") or found[place - 2].text.endswith(":"))
    return found[place - 1].kind == "iri" and declared


def _load(found: list[Token], place: int, hosts: Iterable[str]) -> list[tuple[int, int, str]]:
    target = _target(found, place)
    if _allowed(target, hosts):
        return []
    if place + 1 < len(found) and found[place + 1].is_word("SILENT"):
        end = next((token.start for token in found[place:] if token.text == ";"), found[-1].end)
        return [(found[place].start, end, "INSERT DATA {} ")]
    raise _load_refused(target)


def _load_refused(target: Token | None) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"LOAD {target.text if target else ''} is not allowed here (sparql.load_hosts)"
    )


def _allowed(target: Token | None, hosts: Iterable[str]) -> bool:
    allowed = {host.lower() for host in hosts}
    if "*" in allowed:
        return True
    # A prefixed name, a relative IRI or an escape hides the host, and is refused with it; a variable could become
    # any host.
    if target is None or target.kind != "iri" or "\\" in target.text:
        return False
    if _ABSOLUTE.match(target.text[1:]) is None:
        return False
    parts = urlsplit(target.text[1:-1])
    host = (parts.hostname or "").lower()
    return parts.scheme in {"http", "https"} and (host in allowed or parts.netloc.lower() in allowed)

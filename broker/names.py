"""Prefixed names written in full, so that texts that differ in them have one shape.

What is between a text's constants holds its names; strings, IRIs and comments are constants.  A name that Oxigraph could
read as a keyword and a shorter one, or whose prefix is relative to a base, stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from .tokens import NAMES, shape

if TYPE_CHECKING:
    from collections.abc import Mapping

# What Oxigraph may read before a name without a space.
BEFORE_NAMES = re.compile(
    "(?:A|AS|ASC|BY|DESC|DESCRIBE|DISTINCT|FALSE|FILTER|FROM|GRAPH|HAVING|IN|NAMED|NOT|OFFSET|SERVICE|SILENT|TRUE|UNDEF"
    "|VALUES|WHERE|REDUCED|SELECT)+",
    re.IGNORECASE | re.ASCII,
)
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_PREFIX = re.compile(r"PREFIX[ \t\r\n]+([^:<>{}()\"'#\\ \t\r\n]*:)[ \t\r\n]*<([^<>\\]*)>", re.IGNORECASE)
_DECLARED_LATER = re.compile("PREFIX|BASE", re.IGNORECASE)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^<>\"{}|^`\\\x00-\x20]*")


def in_full(text: str, declared: tuple[tuple[str, str], ...]) -> str:
    """The text with its prefixed names in full; `declared` are known beforehand."""
    found = shape(text)
    if found is None or ":" not in found[0].between:
        return text
    form, constants = found
    between = _in_full(form.between, form.declarations, declared)
    return form._replace(between=between).filled(constants)


@lru_cache(maxsize=1024)
def _in_full(between: str, declarations: str, declared: tuple[tuple[str, str], ...]) -> str:
    if _DECLARED_LATER.search(between) is not None:
        return between
    known = _prefixes(declarations, declared)

    def written(match: re.Match[str]) -> str:
        prefix, _, local = match.group().partition(":")
        iri = known.get(f"{prefix}:") if match.lastgroup == "pname" else None
        if (
            iri is None or iri + local == RDF_TYPE
        ):  # which stays, so that it is known in each query of a shape
            return match.group()
        # `?a<ex:b` must not become `?a<<..`
        space = " " if match.start() and match.string[match.start() - 1] == "<" else ""
        return f"{space}<{iri}{local}>"

    return NAMES.sub(written, between)


def _prefixes(declarations: str, declared: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """The IRI of each prefix, with its colon, that can be written out."""
    found = {f"{name}:": iri for name, iri in declared}
    # A `#` within an IRI is no comment.
    for match in _PREFIX.finditer(declarations):
        found[match[1]] = match[2]
    if "#" in re.sub(r"<[^<>]*>", "", declarations):
        return {}  # a comment, in which a declaration could stand
    known = {name: iri for name, iri in found.items() if _ABSOLUTE.fullmatch(iri)}
    return {name: iri for name, iri in known.items() if not _is_two(name, found)}


def _is_two(name: str, known: Mapping[str, str]) -> bool:
    """Whether the prefix can be read as a keyword and a shorter one."""
    return any(
        name[end:] in known and BEFORE_NAMES.fullmatch(name, 0, end) is not None
        for end in range(1, len(name))
    )

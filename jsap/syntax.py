"""Oxigraph as the arbiter of syntax, asked without evaluating anything.

A query is parsed by running it on an empty store, with SERVICE written as GRAPH: both have the same grammar, and the
network is never reached.  An update is parsed behind an operation that fails, so none of its own is run, LOAD included.

Oxigraph's parser reads as many characters as a keyword has before it sees that they are another word, and reports the
farthest place that it has read.  So a text that is wrong is parsed once more with wide gaps between its tokens, where a
keyword ends before the next token begins: the place reported is then at the token that could not be read.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from pyoxigraph import Store

from triplewire.broker.tokens import splice, tokens

from . import prologue

if TYPE_CHECKING:
    from collections.abc import Callable

# Relative IRIs need a base; which one does not matter here.
_BASE = "http://localhost/"
_EMPTY = Store()
_FAILS = " CREATE GRAPH <urn:triplewire:once> ; CREATE GRAPH <urn:triplewire:once> ; "

_POSITION = re.compile(r"error at (\d+):(\d+): expected (?:one of )?(.*)", re.DOTALL)
# The grammar's own sentences among the things it expected: "Prefix not found", "IRI parsing failed".
_SENTENCE = re.compile(r"(?:^|, )([A-Z\\][A-Za-z]*(?: [A-Za-z\\]+)+)(?=, |$)")
_GAP = " " * 20  # ENCODE_FOR_URI has 14 letters
# Around these, space never parts what belongs together; it would in "a"@en and -5.
_LOOSE = frozenset("{}()[];,.")


class Fault(NamedTuple):
    """Why a text is not SPARQL; `offset` is the place in it, None where it is the whole."""

    reason: str
    offset: int | None


def query_fault(text: str) -> Fault | None:
    """What is wrong with a query, None if nothing is."""
    text = text.rstrip()
    said = _query_error(text)
    return None if said is None else _fault(text, said, len(text), "", _query_error)


def update_fault(text: str) -> Fault | None:
    """What is wrong with an update, None if nothing is."""
    text = text.rstrip()
    start = prologue.end(text)
    said = _update_error(text[:start] + _FAILS + text[start:])
    return None if said is None else _fault(text, said, start, _FAILS, _update_error)


def is_valid(lexical: str, datatype: str) -> bool:
    """Whether `lexical` is a form of this datatype; where Oxigraph does not know the datatype, it is."""
    escaped = "".join(f"\\U{ord(character):08X}" for character in lexical)
    try:
        answer = _EMPTY.query(f'ASK {{ BIND(<{datatype}>("{escaped}") AS ?value) FILTER(BOUND(?value)) }}')
    except (SyntaxError, RuntimeError):
        return True
    return bool(answer)


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, counted from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _query_error(text: str) -> str | None:
    try:
        _EMPTY.query(_without_services(text), base_iri=_BASE)
    except SyntaxError as error:
        return str(error)
    except (RuntimeError, OSError, ValueError):
        return None  # it is SPARQL, which an empty store can't evaluate
    return None


def _update_error(guarded: str) -> str | None:
    try:
        Store().update(guarded, base_iri=_BASE)
    except SyntaxError as error:
        return str(error)
    except RuntimeError:
        return None  # the operation before it has failed, as it shall
    raise AssertionError("an operation that must fail did not")


def _without_services(text: str) -> str:
    """The query with SERVICE written as GRAPH, each place where it was."""
    found = list(tokens(text))
    if not any(token.is_word("SERVICE") for token in found):
        return text
    instead = {"SERVICE": "GRAPH  ", "SILENT": "      "}
    return splice(
        text,
        [(token.start, token.end, instead[token.text.upper()]) for token in found if token.is_word(*instead)],
    )


def _fault(text: str, said: str, start: int, guard: str, parse: Callable[[str], str | None]) -> Fault:
    """What Oxigraph said of `text`, which it read with `guard` inserted at `start`, and where it is so."""
    found = _POSITION.match(said)
    if found is None:
        return Fault(said, None)
    guarded = text[:start] + guard + text[start:]
    sentences = _SENTENCE.findall(found[3])
    if sentences and _offset(guarded, int(found[1]), int(found[2])) == len(guarded):
        return Fault("; ".join(sentences), None)
    again, offset = _farthest_token(guarded, parse)
    if offset > start:
        offset = max(start, offset - len(guard))
    reason = "; ".join(dict.fromkeys(sentences + again)) or "not SPARQL"
    excerpt = " ".join(text[offset : offset + 30].split())
    return Fault(f"{reason} near {excerpt!r}" if excerpt else f"{reason} at its end", offset)


def _farthest_token(text: str, parse: Callable[[str], str | None]) -> tuple[list[str], int]:
    """Where the token begins that could not be read, and what the grammar says of it."""
    starts, gaps, grown = [(0, 0)], [], 0
    found = list(tokens(text))
    for token, following in zip_longest(found, found[1:]):
        starts.append((token.start + grown, token.start))
        if following is None or following.start > token.end or {token.text, following.text} & _LOOSE:
            gaps.append((token.end, token.end, _GAP))
            grown += len(_GAP)
    wide = splice(text, gaps)
    said = _POSITION.match(parse(wide) or "")
    if said is None:
        return [], 0
    read = _offset(wide, int(said[1]), int(said[2]))
    if read == len(wide):
        return _SENTENCE.findall(said[3]), len(text)
    return _SENTENCE.findall(said[3]), max(source for start, source in starts if start <= read)


def _offset(text: str, line: int, column: int) -> int:
    """The inverse of `place`."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return min(len(text), start + column - 1)

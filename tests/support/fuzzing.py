"""Fuzzing for as long as TRIPLEWIRE_FUZZ_S says: what is drawn, what must hold of it, and rounds until the time is up.

The checks take any text.  `tests/fuzz` draws texts by Hypothesis; `tests/fuzz/coverage_guided.py` has atheris find them.
"""

from __future__ import annotations

import json
import os
import random
import time
from contextlib import suppress
from dataclasses import replace

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from pyoxigraph import Store

from support.query_strategies import operations, queries
from triplewire.broker.candidates import CandidateReader
from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import ProtocolError, QueryTooComplex, RequestError
from triplewire.broker.guard import check_query, check_update
from triplewire.broker.model import Query
from triplewire.broker.operations import OperationReader
from triplewire.broker.prologues import with_one_prologue
from triplewire.broker.texts import own_dataset, query_form
from triplewire.broker.tokens import shape, tokens
from triplewire.broker.wire.depth import json_of
from triplewire.broker.wire.subscribe import MessageError, decode_broker, decode_client, encode_client
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.analysis.foreign import analyse_foreign

FUZZ_S = float(os.environ.get("TRIPLEWIRE_FUZZ_S", "10"))
# In CI the same each time; a long search is a new one.
SEED = int(os.environ.get("TRIPLEWIRE_FUZZ_SEED", random.randrange(2**32) if FUZZ_S >= 60 else 0))
EXAMPLES = 50
LONGEST_S = 2.0  # of processor time, for one text of at most some hundred thousand characters
BASE = "http://localhost/"
PREFIXES = {"rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "xsd": "http://www.w3.org/2001/XMLSchema#"}
LIMITS = LimitsConfig()
EMPTY = Store()

WORDS = [
    "SELECT",
    "ASK",
    "CONSTRUCT",
    "DESCRIBE",
    "WHERE",
    "FROM",
    "NAMED",
    "DISTINCT",
    "REDUCED",
    "FILTER",
    "NOT",
    "EXISTS",
    "OPTIONAL",
    "UNION",
    "MINUS",
    "GRAPH",
    "SERVICE",
    "SILENT",
    "VALUES",
    "UNDEF",
    "BIND",
    "AS",
    "GROUP",
    "BY",
    "HAVING",
    "ORDER",
    "ASC",
    "DESC",
    "LIMIT",
    "OFFSET",
    "COUNT",
    "SUM",
    "MIN",
    "GROUP_CONCAT",
    "SEPARATOR",
    "IF",
    "COALESCE",
    "IN",
    "PREFIX",
    "BASE",
    "INSERT",
    "DELETE",
    "DATA",
    "WITH",
    "USING",
    "LOAD",
    "INTO",
    "CLEAR",
    "DROP",
    "CREATE",
    "ADD",
    "MOVE",
    "COPY",
    "TO",
    "DEFAULT",
    "ALL",
    "a",
    "true",
    "LATERAL",
    "STR",
    "*",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ".",
    ";",
    ",",
    "/",
    "|",
    "^",
    "!",
    "=",
    "<",
    ">",
    "<=",
    "!=",
    "&&",
    "||",
    "+",
    "-",
    "<<",
    ">>",
    "<<(",
    ")>>",
    "{|",
    "|}",
    "^^",
    "~",
    "@en",
    "@",
    "?",
    "$",
    "#",
    ":",
    "_:",
    "%",
    "\\",
    "'",
    '"',
    "'''",
    '"""',
    "<>",
    "?x",
    "$y",
    "?z",
    "<a>",
    "<http://ex/p>",
    "<urn:x>",
    ":",
    ":p",
    "ex:a",
    "xsd:integer",
    "rdf:type",
    "_:b",
    "1",
    "1.5",
    "1e3",
    ".5",
    "-1",
    "+2",
    "'x'",
    '"y"',
    "'a\\'b'",
    "'x'@en",
    "'1'^^xsd:integer",
]
WORDS += [
    "\n",
    "# c\n",
    "\0",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "é",
    "<\\u0041>",
    "'\\u0027'",
]
WORDS += ["PREFIX ex: <http://ex/>", "SELECT * {", "ASK {", "INSERT DATA {", "DELETE WHERE {", "} WHERE {"]
words = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=3)), max_size=40).flatmap(
    lambda found: st.sampled_from(["", " "]).map(lambda between: between.join(found))
)
# What grows: a time that is not linear shows here, and so does a depth without bound.
repeated = st.builds(
    lambda before, again, after, number: before + again * number + after,
    words,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    words,
    st.integers(1, 5000),
)
real = st.one_of(
    queries.map(lambda query: query.sparql), st.lists(operations(), min_size=1, max_size=3).map(" ; ".join)
)


@st.composite
def spoilt(draw):
    """A real text, with a part of it taken out, doubled, or a word put in, some times."""
    text = draw(real)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(start + 20, len(text))))
        put = draw(st.one_of(st.just(""), st.just(text[start:end] * 2), st.sampled_from(WORDS)))
        text = text[:start] + put + text[end:]
    return text


texts = st.one_of(st.text(), words, repeated, spoilt())


def fuzz(strategy, check, seconds: float | None = None) -> int:
    """Check whatever the strategy draws, in rounds, until the time is up; how many were checked."""
    ends = time.monotonic() + (FUZZ_S if seconds is None else seconds)
    checked, number = 0, 0

    def one(drawn) -> None:
        nonlocal checked
        checked += 1
        check(drawn)

    while time.monotonic() < ends:
        number += 1
        rounds = settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        )
        seed(SEED + number)(rounds(given(strategy)(one)))()
    print(f"{checked} checked in {number} rounds from seed {SEED}")
    return checked


def in_time(check):
    """The check, which must not take long."""

    def timed(text: str) -> None:
        started = time.process_time()
        check(text)
        seconds = time.process_time() - started
        assert seconds < LONGEST_S, f"{seconds:.1f} s for {len(text)} characters: {text[:200]!r}"

    timed.__name__ = check.__name__
    return timed


@in_time
def check_tokens(text: str) -> None:
    """Terminals are parts of the text in order, with nothing but space and comments between them."""
    end = 0
    for token in tokens(text):
        assert text[token.start : token.end] == token.text != ""
        assert token.start >= end
        between = text[end : token.start]
        assert "#" in between or not between.strip(" \t\r\n"), between
        end = token.end
    assert "#" in text[end:] or not text[end:].strip(" \t\r\n")


@in_time
def check_shape(text: str) -> None:
    """A shape filled with a text's constants is the text."""
    found = shape(text)
    if found is not None:
        assert found[0].filled(found[1]) == text


@in_time
def check_guard(text: str) -> None:
    """A text passes, or is a request error."""
    for check in (check_query, check_update):
        try:
            check(text, LIMITS)
        except RequestError:
            continue


def is_query(text: str) -> bool:
    """Whether Oxigraph takes it as a query; what the guard would keep from it is not tried."""
    try:
        check_query(text, LIMITS)
        EMPTY.query(text, base_iri=BASE, prefixes=PREFIXES)
    except (RequestError, SyntaxError, ValueError, OSError, RuntimeError):
        return False
    return True


@in_time
def check_analysis(text: str) -> None:
    """Nothing that a query says makes its analysis raise; nor anything that is no query, which never gets there."""
    query = Query(text)
    query_form(text)
    own_dataset(text, BASE, PREFIXES)
    for analysis in (analyse(query, BASE, PREFIXES), analyse_foreign(query, BASE, PREFIXES)):
        assert analysis.explain_rows()


@in_time
def check_operations(text: str) -> None:
    """An update is read or not; what it could change is known or not."""
    with_one_prologue(text)
    for reader in (OperationReader(PREFIXES, BASE), CandidateReader(PREFIXES, BASE, graphs_apart=True)):
        try:
            _ = reader.read(text) if isinstance(reader, OperationReader) else reader.update(text)
        except RequestError:
            continue


@in_time
def check_message(text: str) -> None:
    """A message is one, and is said again as it was understood; or it is an error with a code."""
    try:
        said = decode_client(text)
    except MessageError:
        return
    again = decode_client(encode_client(said))
    # A token is said with its scheme, and a text that is no token need not come through that
    assert replace(again, authorization="") == replace(said, authorization="")


@in_time
def check_json(text: str) -> None:
    """The front of the reader of JSON refuses what the reader does, and what is too much."""
    try:
        found = json_of(text)
    except QueryTooComplex:
        return
    except ValueError:
        try:
            json.loads(text)
        except ValueError:
            return
        raise
    assert json.dumps(found) == json.dumps(json.loads(text))


@in_time
def check_broker_message(text: str) -> None:
    """What a broker says is a message, or an error of the protocol."""
    with suppress(ProtocolError):
        decode_broker(text)


TEXT_CHECKS = (check_tokens, check_shape, check_guard, check_analysis, check_operations)
MESSAGE_CHECKS = (check_message, check_json, check_broker_message)

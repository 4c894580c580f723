"""What the stream registry says of each stream: its RDF, read.

::

    @prefix tw: <urn:triplewire:> .
    @prefix dct: <http://purl.org/dc/terms/> .

    <http://example.org/streams/traffic> a tw:Stream ;
        dct:identifier "traffic" ;                                  # the stream's name, as in its URLs
        dct:title "Traffic of the bridges" ;
        tw:mayPublish "bridge-north", "bridge-south" ;              # client ids; "*" is all whom the permissions let
        tw:tracker ( <http://one.example:8003> <http://two.example:8003> ) ;      # in this order
        tw:degree 4 .

Whoever is not named may not publish: taking out the last name closes the stream, and does not open it.  What can't be
read counts for as little as it can: it is told as a problem, and the rest of the stream's lines hold.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from pyoxigraph import BlankNode, Literal, NamedNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from triplewire.broker.model import Term

    Triples: TypeAlias = list[tuple[NamedNode | BlankNode, NamedNode, Term]]

TW = "urn:triplewire:"
_DCT = "http://purl.org/dc/terms/"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
IDENTIFIER, TITLE = NamedNode(f"{_DCT}identifier"), NamedNode(f"{_DCT}title")
MAY_PUBLISH, TRACKER, DEGREE = (NamedNode(f"{TW}{name}") for name in ("mayPublish", "tracker", "degree"))
FIRST, REST, NIL = (NamedNode(f"{_RDF}{name}") for name in ("first", "rest", "nil"))
PREDICATES = (IDENTIFIER, TITLE, MAY_PUBLISH, TRACKER, DEGREE, FIRST, REST)
ANYBODY = "*"

_TRACKERS = 16  # of one stream; a node asks them one after the other
_DEGREES = range(2, 33)  # as of tracker.degree
_NAME_CHARS = 256
_PROBLEMS = 100  # are told


@dataclass(frozen=True, slots=True)
class Registered:
    """One stream: whose items it takes (None: of all whom the permissions let), its trackers in order, its degree.

    `trackers` are base URLs without a slash at the end, none where the registry leaves them open; `degree` is 0 there.
    """

    stream: str
    title: str = ""
    publishers: frozenset[str] | None = frozenset()
    trackers: tuple[str, ...] = ()
    degree: int = 0


def read(triples: Triples) -> tuple[dict[str, Registered], list[str]]:
    """The streams by their names, and what is wrong with the rest, for people."""
    said: dict[Term, dict[NamedNode, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for subject, predicate, object_ in triples:
        said[subject][predicate].append(object_)
    reading = _Reading(said)
    found: dict[str, Registered] = {}
    twice: set[str] = set()
    for described in sorted(said, key=str):
        for name in reading.names(described):
            twice |= {name} & found.keys()
            found[name] = reading.stream(described, name)
    for name in sorted(twice):  # which of them is right, nobody knows: so nobody is let in by either
        reading.problem(f"the stream {name!r} is described twice: nobody may publish there")
        found[name] = Registered(name)
    return found, reading.problems


class _Reading:
    def __init__(self, said: Mapping[Term, Mapping[NamedNode, list[Term]]]) -> None:
        self._said = said
        self.problems: list[str] = []

    def problem(self, text: str) -> None:
        if len(self.problems) < _PROBLEMS:
            self.problems.append(f"{text:.300}")

    def names(self, subject: Term) -> list[str]:
        names = self._texts(subject, IDENTIFIER)
        if len(names) > 1:
            self.problem(f"{subject} has more than one dct:identifier: it is passed over")
            return []
        return names

    def stream(self, subject: Term, name: str) -> Registered:
        publishers: frozenset[str] | None = frozenset(self._texts(subject, MAY_PUBLISH))
        if publishers is not None and ANYBODY in publishers:
            publishers = None
        titles = self._texts(subject, TITLE)
        return Registered(
            name,
            titles[0] if titles else "",
            publishers,
            self._trackers(subject, name),
            self._degree(subject, name),
        )

    def _texts(self, subject: Term, predicate: NamedNode) -> list[str]:
        texts = set()
        for term in self._said[subject].get(predicate, ()):
            if isinstance(term, Literal) and 0 < len(term.value) <= _NAME_CHARS:
                texts.add(term.value)
            else:
                self.problem(
                    f"{subject} {predicate.value} must be a text of 1 to {_NAME_CHARS} characters, not {term}"
                )
        return sorted(texts)

    def _degree(self, subject: Term, name: str) -> int:
        degrees = self._said[subject].get(DEGREE, [])
        if not degrees:
            return 0
        text = degrees[0].value if len(degrees) == 1 and isinstance(degrees[0], Literal) else ""
        if text.isascii() and text.isdigit() and len(text) < 4 and int(text) in _DEGREES:
            return int(text)
        self.problem(
            f"the stream {name!r}: tw:degree must be one number from {_DEGREES[0]} to {_DEGREES[-1]}"
        )
        return 0

    def _trackers(self, subject: Term, name: str) -> tuple[str, ...]:
        """A list of RDF (RDF Schema 1.1, 5.2), walked: whole, or it counts for nothing."""
        heads = self._said[subject].get(TRACKER, [])
        if not heads:
            return ()
        urls: list[str] = []
        node: Term = heads[0]
        seen: set[Term] = set()
        while node != NIL:
            first, rest = ([*self._said.get(node, {}).get(part, ())] for part in (FIRST, REST))
            url = _base(first[0]) if len(first) == 1 else None
            if len(heads) > 1 or url is None or len(rest) != 1 or node in seen or len(urls) == _TRACKERS:
                self.problem(
                    f"the stream {name!r}: tw:tracker must be one list of up to {_TRACKERS} http(s) URLs, in order"
                )
                return ()
            seen.add(node)
            urls += [url] if url not in urls else []
            node = rest[0]
        return tuple(urls)


def _base(term: Term) -> str | None:
    if not isinstance(term, NamedNode):
        return None
    try:
        parts = urlsplit(term.value)
        usable = (
            parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.query or parts.fragment)
        )
    except ValueError:
        return None
    return term.value.rstrip("/") if usable else None


def triples_of(rows: Iterable[Mapping[str, Term]]) -> Triples:
    """Solutions with s, p and o as triples."""
    return [
        (subject, predicate, row["o"])
        for row in rows
        if isinstance(predicate := row.get("p"), NamedNode)
        and isinstance(subject := row.get("s"), NamedNode | BlankNode)
        and "o" in row
    ]

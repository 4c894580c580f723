"""The nouns of Triplewire, each once.  Importing this module starts nothing.

Terms are pyoxigraph's `NamedNode`, `BlankNode`, `Literal` and `Triple`: immutable, hashable, never wrapped.  A row is
a tuple of terms in the order of its answer's variables, None where a variable is unbound.  Answers are bags: a change
is two disjoint bags of rows, and changes add up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple, Variable

from .rights import ALL, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .rights import Graphs, Rights

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
Row: TypeAlias = tuple[Term | None, ...]
SubscriberId: TypeAlias = int
GraphName: TypeAlias = NamedNode | BlankNode | DefaultGraph


class QueryForm(Enum):
    """The four forms of a SPARQL query (SPARQL 1.1 Query, 16)."""

    SELECT = "SELECT"
    ASK = "ASK"
    CONSTRUCT = "CONSTRUCT"
    DESCRIBE = "DESCRIBE"

    @property
    def is_graph(self) -> bool:
        """Whether the answer is triples."""
        return self in {QueryForm.CONSTRUCT, QueryForm.DESCRIBE}


@dataclass(frozen=True, slots=True)
class Query:
    """A query operation (SPARQL 1.1 Protocol, 2.1).

    Where either list of graphs is given, together they are the dataset, whatever FROM says (2.1.4).  Of it, the sender
    sees what is `readable` (`rights.Graphs`), and nothing else is there for the query.
    """

    sparql: str
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    readable: Graphs = None


@dataclass(frozen=True, slots=True)
class Update:
    """An update operation (SPARQL 1.1 Protocol, 2.2); the lists of graphs stand for USING and USING NAMED."""

    sparql: str
    using_graphs: tuple[str, ...] = ()
    using_named_graphs: tuple[str, ...] = ()
    rights: Rights = ALL


class GraphEdit(Enum):
    """What a Graph Store Protocol request does to its graph."""

    REPLACE = "PUT"
    MERGE = "POST"
    DROP = "DELETE"


@dataclass(frozen=True, slots=True)
class GraphWrite:
    """One writing operation of the Graph Store HTTP Protocol; `graph` None is the default graph.

    `triples` is N-Triples text, so that one path leads from here to every kind of store.
    """

    edit: GraphEdit
    graph: str | None
    triples: str = ""
    rights: Rights = ALL


@dataclass(frozen=True, slots=True)
class Resume:
    """A subscription whose connection was lost, up to the notification that its client saw last.

    None as `sequence`: what came after it is not known any more, so the subscription ends and begins anew.
    """

    spuid: str
    sequence: int | None


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The SE Protocol's subscribe: hold `query` for `subscriber` and tell it every change of the answer.

    A `resumable` one outlives its connection for a while; `resume` is what a client that is back held before: the same
    `client`, by its client_id, where clients have to say who they are.
    """

    query: Query
    subscriber: SubscriberId
    alias: str | None = None
    resumable: bool = False
    resume: Resume | None = None
    client: str = ""


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """The SE Protocol's unsubscribe; only the subscriber that owns `spuid` may."""

    spuid: str
    subscriber: SubscriberId


@dataclass(frozen=True, slots=True)
class Leave:
    """A connection is gone; queued like any request, so that no lock is needed.

    Its subscriptions end but for those that are to `keep` (their spuids): they stay its own until it leaves again, or
    its client takes them over.
    """

    subscriber: SubscriberId
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Replay:
    """A change that was made elsewhere, exactly; `sequence` is the record's number there.

    It is carried out whatever waits, and in order: one that does not follow on the last is refused, unless it is a
    `leap` from whatever there was to that record.
    """

    delta: QuadDelta
    sequence: int
    leap: bool = False


Request: TypeAlias = Update | GraphWrite | Subscribe | Unsubscribe | Leave | Replay


@dataclass(frozen=True, slots=True)
class Bindings:
    """The answer to a query: rows over `vars`, in the answer's order.

    ASK is one row over `boolean`; CONSTRUCT and DESCRIBE are rows over `subject, predicate, object`, each triple once.
    """

    vars: tuple[str, ...]
    rows: tuple[Row, ...]

    def bag(self) -> Counter[Row]:
        """The rows with their multiplicities."""
        return Counter(self.rows)


@dataclass(frozen=True, slots=True)
class BindingsDelta:
    """What changed in the answer to one query: two bags of rows over the same variables, with no row in common."""

    vars: tuple[str, ...]
    added: Counter[Row]
    removed: Counter[Row]
    # The encoded form, kept by the codec: one delta goes to many subscribers and is encoded once.
    encoded: list[bytes] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def between(cls, vars: tuple[str, ...], before: Counter[Row], after: Counter[Row]) -> BindingsDelta:  # noqa: A002 - head.vars is the format's own name
        """The delta that turns the bag `before` into the bag `after`."""
        return cls(vars, after - before, before - after)

    @classmethod
    def first(cls, answer: Bindings) -> BindingsDelta:
        """The first results: everything is added; the answer's order is kept."""
        return cls(answer.vars, answer.bag(), Counter())

    def apply(self, before: Counter[Row]) -> Counter[Row]:
        """The bag after this change; the inverse of `between`."""
        after = before.copy()
        after.update(self.added)
        after.subtract(self.removed)
        return +after

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class QuadDelta:
    """Exactly what an update adds to the dataset and removes from it; no quad is in both.

    `created` are graphs that come without a quad, `dropped` graphs that go; a graph comes with its first quad anyway.
    """

    inserted: frozenset[Quad]
    deleted: frozenset[Quad]
    created: frozenset[NamedNode] = frozenset()
    dropped: frozenset[NamedNode] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.inserted or self.deleted or self.created or self.dropped)

    def seen_by(self, readable: Graphs) -> QuadDelta:
        """What of it is in these graphs."""
        if readable is None:
            return self
        return QuadDelta(
            frozenset(quad for quad in self.inserted if name_of(quad.graph_name) in readable),
            frozenset(quad for quad in self.deleted if name_of(quad.graph_name) in readable),
            frozenset(graph for graph in self.created if graph.value in readable),
            frozenset(graph for graph in self.dropped if graph.value in readable),
        )


class QuadPattern(NamedTuple):
    """Quads by what is known of them; None is any term, or any graph, the default graph included."""

    subject: Term | None
    predicate: Term | None
    object: Term | None
    graph: GraphName | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """What an update can change at most, where the change itself is not known; never told as a change.

    Each quad that comes or goes meets one of `patterns`; `graphs` may come or go without a quad.
    """

    patterns: frozenset[QuadPattern]
    graphs: frozenset[NamedNode] = frozenset()

    def __or__(self, other: Candidates) -> Candidates:
        return Candidates(self.patterns | other.patterns, self.graphs | other.graphs)

    def __bool__(self) -> bool:
        return bool(self.patterns or self.graphs)


@dataclass(slots=True)
class Subscription:
    """A query held for a subscriber; `sequence` is that of the last notification made, 0 the first results."""

    spuid: str
    query: Query
    subscriber: SubscriberId
    alias: str | None = None
    sequence: int = 0
    client: str = ""


@dataclass(frozen=True, slots=True)
class Notification:
    """One message about one subscription; sequence 0 carries the first results and answers the subscribe."""

    spuid: str
    alias: str | None
    sequence: int
    delta: BindingsDelta


@dataclass(frozen=True, slots=True)
class Resumed:
    """A subscription has another connection now: what came after `sequence` becomes its next notification."""

    spuid: str
    alias: str | None
    sequence: int


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """The answer to an unsubscribe."""

    spuid: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the protocols send it: SEPA's flat object on WebSocket and HTTP alike."""

    code: str
    status: int
    description: str
    alias: str | None = None
    spuid: str | None = None


Message: TypeAlias = Notification | Unsubscribed | Failure
# What the core says; who is told of a Resumed hears a Notification.
CoreMessage: TypeAlias = Message | Resumed


@dataclass(frozen=True, slots=True)
class Updated:
    """The reply to an update; `created` tells a Graph Store write that its graph was not there before.

    `delta` is the exact change, None where a remote store does not tell it; `sequence` is the number of its record in
    the journal, None without one.
    """

    notified: int = 0
    created: bool = False
    delta: QuadDelta | None = field(default=None, compare=False)
    sequence: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one request led to: the sender's reply, and messages for subscribers in the order they must arrive."""

    reply: Updated | None = None
    messages: tuple[tuple[SubscriberId, CoreMessage], ...] = ()


Given: TypeAlias = "Mapping[Variable, Term]"
# The quads with these terms, None being any; a graph is always named.
Match: TypeAlias = (
    "Callable[[NamedNode | BlankNode | None, NamedNode | None, Term | None, GraphName], Iterable[Quad]]"
)


class Dataset(Protocol):
    """The store as subscription units see it."""

    @property
    def match(self) -> Match:
        """Finds quads; good until the next write.  Only of a store that tells its changes."""
        ...

    def evaluate(
        self, query: Query, given: Sequence[Given] | None = None, place: int | None = None
    ) -> Bindings:
        """The whole answer to `query`, in memory; or its rows that have the terms of one of `given`.

        Those are different terms for the same variables.  `place` is where in the text they can be said as VALUES, so
        that the store plans its joins by them, and all are asked for at once.

        Raises:
            RequestError: the query can't be evaluated.
            EngineError: the store failed.
        """
        ...


def bag(rows: Iterable[Row]) -> Counter[Row]:
    """Rows with their multiplicities."""
    return Counter(rows)

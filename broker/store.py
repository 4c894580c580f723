"""The dataset, embedded: Oxigraph in memory or on disk.

A pyoxigraph iterator is bound to the thread that made it (another thread's touch aborts the process), so none leaves
the function that made it: answers leave as `Bindings`, or as finished bytes written into a sink.  Queries may run on
any thread, on a snapshot; writes come from the core thread only (concurrent updates on disk lose updates).
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pyoxigraph import DefaultGraph, Literal, NamedNode, QueryBoolean, QuerySolutions, QueryTriples

from .errors import (
    GraphNotFound,
    MalformedRequest,
    RequestError,
    RequestTooLarge,
    SparqlSyntaxError,
    StoreError,
)
from .guard import check_query, check_update
from .loading import load_document
from .model import Bindings, GraphEdit, GraphWrite, QuadDelta, Query, QueryForm, Replay, Update
from .planner import Planner
from .readers.question import Question
from .remote import allow_remote
from .rights import DEFAULT, visible
from .texts import is_update, own_dataset, with_ordered_star

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .config import LimitsConfig, SparqlConfig
    from .dataset.dataset import Dataset
    from .model import Candidates, Given, Match, Row
    from .readers.pool import ReaderProcesses
    from .threads import FairLock
    from .wire.media import AnswerFormat

_POSITION = re.compile(r"error at (\d+):(\d+)[^:]*: (.*)", re.DOTALL)
_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^<>"{}|^`\\\x00-\x20]*')
_MESSAGE_CHARS = 300
_REMEMBERED_CHARS = 4096
_SAID_AT_ONCE = 1000
_NEAR_CHARS = 40
_CLASSES = re.compile(r"\[['_]")  # Oxigraph lists the character classes that could go on: of no help


class Sink(Protocol):
    """Where a reader thread writes an answer."""

    def start(self, form: QueryForm, format_: AnswerFormat) -> None:
        """The answer's form is known and its format chosen; bytes follow."""

    def write(self, data: bytes) -> int:
        """Take some bytes; raises where nobody wants them any more."""
        ...

    def check(self) -> None:
        """Raises where nobody wants the answer any more, or it takes too long."""


if TYPE_CHECKING:
    Choose: TypeAlias = Callable[[QueryForm], AnswerFormat]
    # Told what is about to be written, or could be, None where nothing is known; not called where the request fails before.
    Before: TypeAlias = Callable[[QuadDelta | Candidates | None], None]
    Check: TypeAlias = Callable[[], None]


def unbounded() -> None:
    """There is no limit."""


def nobody(_: QuadDelta | Candidates | None) -> None:
    """Nobody wants to know what is about to be written."""


class Store(Protocol):
    """What the core and the readers need of a dataset; `EmbeddedStore` and `EndpointStore` are two."""

    @property
    def match(self) -> Match:
        """See `model.Dataset`."""
        ...

    def evaluate(
        self, query: Query, given: Sequence[Given] | None = None, place: int | None = None
    ) -> Bindings:
        """See `model.Dataset`."""
        ...

    def answer(self, query: Query, choose: Choose, sink: Sink) -> None:
        """Write the answer into `sink` in the format that `choose` picks for its form."""

    def apply(self, update: Update, before: Before = nobody) -> QuadDelta | None:
        """Carry out an update, all or nothing; None where the exact change is not known."""
        ...

    def write_graph(self, write: GraphWrite, before: Before = nobody) -> bool:
        """Carry out a Graph Store operation, all or nothing; whether the graph is new."""
        ...

    def replay(self, change: Replay, before: Before = nobody) -> None:
        """Carry out a change that was made elsewhere."""

    @property
    def sequence(self) -> int | None:
        """The number of the journal's last record; None where there is no journal."""
        ...

    def has_graph(self, graph: str, check: Check = unbounded) -> bool:
        """Whether the named graph is there; for reader threads, `check` as that of a `Sink`."""
        ...

    @property
    def quiet(self) -> FairLock:
        """Held by the core thread while it handles a request."""
        ...

    @property
    def answers_when_synced(self) -> bool:
        """Whether what was written must be made safe from a loss of power (`sync`) before it is answered."""
        ...

    def sync(self) -> None:
        """Make what was written safe from a loss of power; on any thread."""

    def is_sync_due(self) -> bool:
        """Whether `sync` has anything to do; at once, on any thread."""

    def keep(self) -> None:
        """Do what is due in the background; on one thread that is not the core's."""

    def is_keep_due(self) -> bool:
        """Whether `keep` may have anything to do; at once, on any thread."""

    def close(self) -> None:
        """Flush, and let go of files and connections."""


class EmbeddedStore:
    """Oxigraph in this process."""

    def __init__(
        self,
        dataset: Dataset,
        sparql: SparqlConfig,
        limits: LimitsConfig,
        readers: ReaderProcesses | None = None,
    ) -> None:
        """Queries are answered by `readers`; without them in the thread that asks, where nothing can stop one."""
        self.dataset = dataset
        self.readers = readers
        self._sparql = sparql
        self._limits = limits
        self._prefixes = tuple(sparql.prefixes.items())
        self._asked = lru_cache(maxsize=1024)(self._read)
        self._planner = Planner(sparql.base_iri, sparql.prefixes, lambda url: load_document(url, limits))

    @property
    def quiet(self) -> FairLock:
        """See `Store`."""
        return self.dataset.quiet

    def evaluate(
        self, query: Query, given: Sequence[Given] | None = None, place: int | None = None
    ) -> Bindings:
        """See `Store`.  Raises RequestError or StoreError."""
        if given is None:
            return self._bindings(query, self._query(query))
        said, others = self._said(query, given, place)
        answers = [self._bindings(query, self._query(query, text=text)) for text in said]
        answers += [self._bindings(query, self._query(query, given=one)) for one in others]
        if len(answers) == 1:
            return answers[0]
        if not answers:
            return Bindings((), ())
        return Bindings(answers[0].vars, tuple(chain.from_iterable(answer.rows for answer in answers)))

    def _bindings(self, query: Query, result: QuerySolutions | QueryBoolean | QueryTriples) -> Bindings:
        with _told(query):
            return _bindings(result, self._limits.answer_rows)

    def _said(
        self, query: Query, given: Sequence[Given], place: int | None
    ) -> tuple[list[str], Sequence[Given]]:
        """Texts in which what is given is said, and what can't be: a blank node would be a variable."""
        if place is None or self._question(query).text != query.sparql:
            return [], given
        said: list[Given] = []
        others: list[Given] = []
        for one in given:
            can_be = all(isinstance(term, NamedNode | Literal) for term in one.values())
            (said if can_be else others).append(one)
        texts = []
        for start in range(0, len(said), _SAID_AT_ONCE):
            part = said[start : start + _SAID_AT_ONCE]
            rows = " ".join([f"({' '.join(map(str, one.values()))})" for one in part])
            values = f" VALUES ({' '.join(map(str, part[0]))}) {{ {rows} }} "
            texts.append(query.sparql[:place] + values + query.sparql[place:])
        return texts, others

    @property
    def match(self) -> Match:
        """See `model.Dataset`."""
        return self.dataset.store.quads_for_pattern

    def answer(self, query: Query, choose: Choose, sink: Sink) -> None:
        """See `Store`.  Raises RequestError or StoreError, or what the sink raises."""
        if self.readers is not None:
            with _told(query):
                self.readers.answer(self._question(query), choose, sink, sink.check)
            return
        result = self._query(query)
        form = _form(result)
        format_ = choose(form)
        sink.start(form, format_)
        with _told(query):
            result.serialize(sink, format_.writer)  # type: ignore[arg-type]  # the writer fits the form

    def apply(self, update: Update, before: Before = nobody) -> QuadDelta:
        """See `Store`; the exact change.  Raises RequestError or StoreError; then nothing has changed."""
        check_update(update.sparql, self._limits)
        for graph in (*update.using_graphs, *update.using_named_graphs):
            named_node(graph)
        text = allow_remote(update.sparql, self._sparql)
        try:
            delta = self._planner.update(self.dataset.store, replace(update, sparql=text))
        except SyntaxError as error:
            raise syntax_error(error, text, update=True) from error
        except (RuntimeError, OSError, ValueError) as error:
            raise _failed(error, "the update") from error
        self._write(delta, before)
        return delta

    def write_graph(self, write: GraphWrite, before: Before = nobody) -> bool:
        """See `Store`.  Raises GraphNotFound, RequestError or StoreError; then nothing has changed."""
        # Of a graph that can't be read, it is not told whether it was there.
        there = write.graph is None or not write.rights.may_read(write.graph) or self._contains(write.graph)
        self._write(self._planner.graph(self.dataset.store, write), before)
        return not there

    def replay(self, change: Replay, before: Before = nobody) -> None:
        """See `Store`.  Raises StoreError."""
        before(change.delta)
        self.dataset.replay(change.delta, change.sequence, leap=change.leap)

    @property
    def sequence(self) -> int | None:
        """See `Store`."""
        return None if self.dataset.kept is None else self.dataset.sequence

    def _write(self, delta: QuadDelta, before: Before) -> None:
        before(delta)
        if delta:
            self.dataset.write(delta)

    def has_graph(self, graph: str, check: Check = unbounded) -> bool:
        """See `Store`."""
        if self.readers is None:
            return self._contains(graph)
        return self.readers.ask(Question(f"ASK {{ GRAPH {named_node(graph)} {{}} }}"), check)

    def _contains(self, graph: str) -> bool:
        return self.dataset.store.contains_named_graph(named_node(graph))

    def health(self) -> dict[str, Any]:
        """How it goes, for operators."""
        found = self.dataset.health()
        if self.readers is not None:
            found["readers"] = asdict(self.readers.statistics())
        return found

    @property
    def answers_when_synced(self) -> bool:
        """See `Store`."""
        return self.dataset.answers_when_synced

    def sync(self) -> None:
        """See `Store`.  Raises StoreError."""
        self.dataset.sync()

    def is_sync_due(self) -> bool:
        """See `Store`."""
        return self.dataset.is_sync_due()

    def is_keep_due(self) -> bool:
        """See `Store`."""
        return (self.readers is not None and self.readers.is_tended) or self.dataset.is_keep_due()

    def keep(self) -> None:
        """See `Store`."""
        if self.readers is not None:
            self.readers.tend(time.monotonic())
        self.dataset.keep()

    def close(self) -> None:
        """See `Store`.  Raises StoreError."""
        if self.readers is not None:
            self.readers.close()
        self.dataset.close()

    def _query(
        self, query: Query, *, given: Given | None = None, text: str | None = None
    ) -> QuerySolutions | QueryBoolean | QueryTriples:
        question = self._question(query)
        options = question.options()
        if given is not None:
            options["substitutions"] = dict(given)
        with _told(query):
            return self.dataset.store.query(question.text if text is None else text, **options)

    def _question(self, query: Query) -> Question:
        # Units ask the same again and again, with other keys.
        return self._asked(query) if len(query.sparql) <= _REMEMBERED_CHARS else self._read(query)

    def _read(self, query: Query) -> Question:
        check_query(query.sparql, self._limits)
        text = allow_remote(query.sparql, self._sparql)
        default, named = self._dataset(query, text)
        with _told(query):
            ordered = with_ordered_star(text, self._sparql.base_iri, self._prefixes)
        sparql = self._sparql
        return Question(ordered, sparql.base_iri, sparql.prefixes, default, named, sparql.union_default_graph)

    def _dataset(
        self, query: Query, text: str
    ) -> tuple[tuple[NamedNode | DefaultGraph, ...] | None, tuple[NamedNode, ...] | None]:
        """The graphs of the query's dataset; None where it is the store's own, and FROM's."""
        given = [
            [named_node(graph).value for graph in graphs]
            for graphs in (query.default_graphs, query.named_graphs)
        ]
        if query.readable is not None:
            own = own_dataset(text, self._sparql.base_iri, self._sparql.prefixes)
            default, named = visible(query.readable, given, own, union=self._sparql.union_default_graph)
        elif any(given):
            default, named = map(tuple, given)
        else:
            return None, None
        return tuple(map(_graph, default)), tuple(map(NamedNode, named))


def _graph(name: str) -> NamedNode | DefaultGraph:
    return DefaultGraph() if name == DEFAULT else NamedNode(name)


@contextmanager
def _told(query: Query) -> Iterator[None]:
    """Oxigraph's errors as ours."""
    try:
        yield
    except SyntaxError as error:
        raise syntax_error(error, query.sparql) from error
    except (RuntimeError, OSError, ValueError) as error:
        raise _failed(error, "the query") from error


def named_node(iri: str) -> NamedNode:
    """An IRI of the request as a term.

    Raises:
        MalformedRequest: it is not an absolute IRI.
    """
    if _IRI.fullmatch(iri) is None:
        raise MalformedRequest(f"{iri!r:.200} is not an absolute IRI")
    try:
        return NamedNode(iri)
    except ValueError as error:
        raise MalformedRequest(f"{iri!r:.200} is not an absolute IRI: {error}") from error


def graph_update(write: GraphWrite, *, there: bool) -> str:
    """The SPARQL 1.1 Update that is the same as a Graph Store operation (Graph Store Protocol, 5.3 to 5.5).

    Raises:
        GraphNotFound: a graph that is not there is to be dropped.
    """
    if write.graph is None:
        drop, create, data = "DROP DEFAULT", "", f"INSERT DATA {{ {write.triples} }}"
    else:
        name = f"GRAPH <{named_node(write.graph).value}>"
        drop, create = f"DROP SILENT {name}", f"CREATE SILENT {name} ;"
        data = f"INSERT DATA {{ {name} {{ {write.triples} }} }}"
    if write.edit is GraphEdit.DROP:
        if not there:
            raise GraphNotFound(f"there is no graph <{write.graph}>")
        return drop
    return f"{drop} ; {create} {data}" if write.edit is GraphEdit.REPLACE else f"{create} {data}"


def _form(result: QuerySolutions | QueryBoolean | QueryTriples) -> QueryForm:
    if isinstance(result, QuerySolutions):
        return QueryForm.SELECT
    return QueryForm.ASK if isinstance(result, QueryBoolean) else QueryForm.CONSTRUCT


def _bindings(result: QuerySolutions | QueryBoolean | QueryTriples, limit: int) -> Bindings:
    if isinstance(result, QueryBoolean):
        return Bindings(("boolean",), ((Literal(bool(result)),),))
    if isinstance(result, QueryTriples):
        triples = _bounded(((triple.subject, triple.predicate, triple.object) for triple in result), limit)
        return Bindings(("subject", "predicate", "object"), tuple(dict.fromkeys(triples)))
    variables = tuple(variable.value for variable in result.variables)
    return Bindings(variables, tuple(_bounded((tuple(solution) for solution in result), limit)))


def _bounded(rows: Iterable[Row], limit: int) -> Iterable[Row]:
    for count, row in enumerate(rows, 1):
        if count > limit:
            raise RequestTooLarge(f"the answer has more than {limit} rows (limits.answer_rows)")
        yield row


def syntax_error(error: SyntaxError, sparql: str, *, update: bool = False) -> SparqlSyntaxError:
    """Oxigraph's error as ours: short, with its place, and a hint where the text went to the wrong path."""
    found = _POSITION.match(str(error))
    if found is None:
        return SparqlSyntaxError(f"Parsing failed: {_clip(str(error))}{_hint(sparql, update=update)}")
    line, column = int(found[1]), int(found[2])
    near = _near(sparql, line, column)
    reason = _clip(_CLASSES.split(found[3], maxsplit=1)[0].rstrip(", "))
    if reason in {"expected", "expected one of"}:
        reason = "something else is expected here"
    hint = _hint(sparql, update=update)
    description = f"Parsing failed: line {line}, column {column}{near}: {reason}{hint}"
    return SparqlSyntaxError(description, line=line, column=column)


def _near(sparql: str, line: int, column: int) -> str:
    lines = sparql.split("\n")
    rest = lines[line - 1][column - 1 :][:_NEAR_CHARS].strip() if line <= len(lines) else ""
    return f", near {rest!r}" if rest else ", at the end"


def _hint(sparql: str, *, update: bool) -> str:
    if update == is_update(sparql):
        return ""
    return "; an update is expected here" if update else "; this is an update, where a query is expected"


def _failed(error: Exception, what: str) -> RequestError | StoreError:
    """Evaluation refuses what the text asks for (an unknown function, a graph that is there already); I/O is ours."""
    if isinstance(error, OSError):
        return StoreError(f"{what} failed in the store: {_short(error)}")
    return RequestError(f"{what} failed: {_short(error)}", code=f"{what.removeprefix('the ')}_failed")


def _short(error: Exception) -> str:
    return _clip(str(error))


def _clip(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MESSAGE_CHARS else f"{text[:_MESSAGE_CHARS]}..."

"""What a query's answer depends on.

    found = analyse(Query("SELECT ?value WHERE { ?sensor :value ?value ; :room <urn:kitchen> }"), None, {...})
    found.occurrences[0].matches(quad)    can this quad's coming or going change the answer?
    found.keys(found.occurrences[0])      (?sensor, ?value): what the changed rows have in common with the quad
    found.asking(keys)                    the query with the keys among its columns, for Store.query(substitutions=..)
    found.lifted                          the query for all rooms, and which of them this query wants

It is sound: what does not match changes nothing, and rows that don't agree with the keys stay.  Where a query is not
understood, `anything` is true, and whatever happens may change the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from pyoxigraph import NamedNode, Variable

from triplewire.broker.model import Query, QueryForm
from triplewire.broker.names import in_full
from triplewire.broker.rights import DEFAULT, visible
from triplewire.broker.tokens import Shape, shape

from .algebra import UNGROUPED
from .constants import term
from .occurrence import Graphs, Occurrence
from .syntax import Constant, NotUnderstood
from .template import Template, template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from triplewire.broker.model import QuadDelta, Term

    from .algebra import Context, Inner, Pattern
    from .occurrence import Place
    from .syntax import Node

_LONGEST = 100_000  # reading takes about a second for a million
_NONE = frozenset[NamedNode]()
_MARK = "\ue000"


class Restricted(NamedTuple):
    """A query that is evaluated for some values of its keys, and the place in its text where they can be said."""

    query: Query
    place: int | None


class BasicPattern(NamedTuple):
    """Triple patterns that are joined; a variable is its name, a blank node one that begins with `_:`."""

    triples: tuple[tuple[Term | str, Term | str, Term | str], ...]
    graphs: Graphs


class Condition(NamedTuple):
    """What the rows of a query meet: the column's value compared with a number."""

    variable: Variable
    operator: str
    number: Term


@dataclass(frozen=True, slots=True)
class Lifted:
    """The query that this one is a case of.

    Its rows are those of all queries of its kind; those of this query have `constants` in the columns `variables`, and
    meet the `conditions`: a column, one of < <= > >= =, and a number.
    `columns` says where each column of this query comes from; of ASK there are none, and any row means true.
    """

    query: Query
    variables: tuple[Variable, ...]
    constants: tuple[Term, ...]
    columns: tuple[Variable | Term, ...]
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known of one query; see the module."""

    query: Query
    form: QueryForm | None
    projected: tuple[Variable, ...] = ()
    certain: frozenset[Variable] = frozenset()
    occurrences: tuple[Occurrence, ...] = ()
    wellness: tuple[str, ...] = ()  # why it must be evaluated fully; empty where keys will do
    volatile: tuple[str, ...] = ()  # what makes it another answer each time; SERVICE, too
    distinct: bool = False
    group_keys: tuple[Variable, ...] | None = None  # None where it has no groups
    fickle: bool = False  # of the same groups it may tell other rows: SUM of doubles, MIN of `1` and `1.0`
    sub_selects: tuple[Inner, ...] = ()
    lifted: Lifted | None = None
    not_well_designed: tuple[Variable, ...] = ()
    _template: Template | None = field(default=None, repr=False, compare=False)
    _constants: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def anything(self) -> bool:
        """Whether any change may change the answer, and the occurrences don't tell."""
        return self._template is None or bool(self.volatile)

    def touched(self, delta: QuadDelta) -> bool:
        """Whether the change may change the answer."""
        return self.anything or next(self.met(delta), None) is not None

    def met(self, delta: QuadDelta) -> Iterator[tuple[Occurrence, dict[Variable, Term]]]:
        """The occurrences that a change meets, with the values of their keys; none where any row can change."""
        for occurrence in self.occurrences:
            for quad in (*delta.inserted, *delta.deleted):
                if (found := occurrence.bindings(quad)) is not None:
                    yield occurrence, {key: found[key] for key in occurrence.keys}
            if occurrence.existence:
                for graph in (*delta.created, *delta.dropped):
                    if (found := occurrence.graph_bindings(graph)) is not None:
                        yield occurrence, {key: found[key] for key in occurrence.keys}

    def keys(self, occurrence: Occurrence) -> tuple[Variable, ...]:
        """The variables by which all rows that the occurrence can change are found; none means: evaluate fully."""
        return occurrence.keys

    def asking(self, keys: tuple[Variable, ...]) -> Query:
        """The query's solutions as a SELECT that has these keys among its columns, at the end where they are new.

        Of a SELECT it has the same rows; of CONSTRUCT those that its template is filled with; of ASK only the keys.
        """
        if self._template is None:
            return self.query
        text = self._template.asking(tuple(key.value for key in keys)).filled(self._constants)
        return replace(self.query, sparql=text)

    @property
    def pattern(self) -> BasicPattern | None:
        """Its WHERE as a basic graph pattern in one graph, or in each; None where it is more than that."""
        triples = self._template.triples if self._template is not None else None
        if triples is None or self.anything or len(triples) != len(self.occurrences):
            return None
        graphs = self.occurrences[0].graphs
        if not graphs.is_each and not graphs.is_one:
            return None
        found = []
        for one, (subject, _, object_) in zip(self.occurrences, triples, strict=True):
            found.append((_named(one.subject, subject), _named(one.predicate), _named(one.object, object_)))
        return BasicPattern(tuple(found), graphs)

    @property
    def counts(self) -> frozenset[str] | None:
        """What is counted, `*` being solutions, of a query that tells its group keys and counts, and nothing else."""
        found = self._template.counts if self._template is not None and not self.volatile else None
        if found is None or set(self.wellness) - {UNGROUPED}:
            return None
        return frozenset(found)

    def ungrouped(self) -> Query:
        """What a query with groups groups: the solutions of its WHERE.

        All that they bind: a solution that changes in what is aggregated only has gone, and another has come.
        """
        assert self._template is not None
        text = self._template.ungrouped().filled(self._constants)
        return replace(self.query, sparql=text)

    def may_be_given(self, names: Iterable[Variable]) -> bool:
        """Whether all of these can be given to the store (`asking`), and tell which rows can change."""
        return self._template is not None and all(name.value in self._template.allowed for name in names)

    @property
    def is_plain(self) -> bool:
        """Whether its rows are the solutions of its WHERE, one for one."""
        return (
            self._template is not None
            and self.form is not QueryForm.DESCRIBE
            and not self.distinct
            and self.group_keys is None
            and not any(item.expression for item in self._template.select.items)
        )

    def restricting(self, keys: tuple[Variable, ...]) -> Restricted:
        """The same, and where in it the values of the keys can be said (`model.Dataset.evaluate`)."""
        asked = self.asking(keys)
        if self._template is None or _MARK in asked.sparql:
            return Restricted(asked, None)
        marked = self._template.asking(tuple(key.value for key in keys), _MARK).filled(self._constants)
        place = marked.find(_MARK)
        return Restricted(asked, place if place >= 0 else None)

    def explain_rows(self) -> str:
        """How its changed rows are found, in words, in one line."""
        if self.wellness:
            return f"full: {', '.join(self.wellness)}"
        if not self.occurrences:
            return "touched by nothing"
        return "; ".join(dict.fromkeys(map(self._explained, self.occurrences)))

    def _explained(self, occurrence: Occurrence) -> str:
        if occurrence.keys:
            return f"keyed on {' '.join(map(str, occurrence.keys))}"
        where = f"full by {_words(occurrence)}"
        if occurrence.closure:
            return f"{where}: in a path's closure"
        if self.not_well_designed:
            return (
                f"{where}: OPTIONAL that is not well designed ({' '.join(map(str, self.not_well_designed))})"
            )
        return f"{where}: no key"


def analyse(
    query: Query,
    base_iri: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    *,
    union_default_graph: bool = False,
) -> Analysis:
    """What is known of a query that Oxigraph accepts; it never raises."""
    declared = tuple((prefixes or {}).items())
    if len(query.sparql) > _LONGEST:
        return _unknown(query, f"not understood: more than {_LONGEST} characters")
    try:
        text = in_full(query.sparql, declared)
        found = shape(text)
        form, constants = found if found is not None else (Shape("", text, ()), ())
        known = template(form, tuple(name for name, _ in declared))
        if isinstance(known, str):
            return _unknown(query, known)
        return _Instance(known, constants, query, base_iri, declared, union_default_graph).analysis()
    except (NotUnderstood, ValueError) as reason:
        return _unknown(query, f"not understood: {reason}")


def _unknown(query: Query, reason: str) -> Analysis:
    return Analysis(query, None, wellness=(reason,))


class _Instance:
    """A shape with one query's constants."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that it depends on
        self,
        known: Template,
        constants: tuple[str, ...],
        query: Query,
        base_iri: str | None,
        declared: tuple[tuple[str, str], ...],
        union: bool,
    ) -> None:
        self._known = known
        self._constants = constants
        self._query = query
        self._base = base_iri
        self._prologue = _prologue(declared, known.prologue)
        self._union = union

    def analysis(self) -> Analysis:
        known, found = self._known, self._known.found
        full = bool(found.reasons or found.volatile)
        default, named = self._dataset()
        contexts: dict[Context, Graphs] = {}
        occurrences = []
        for pattern in found.patterns:
            graphs = contexts.get(pattern.context)
            if graphs is None:
                graphs = contexts[pattern.context] = self._graphs(pattern.context, default, named)
            occurrences.append(self._occurrence(pattern, graphs, full))
        grouped = known.group_keys
        return Analysis(
            self._query,
            QueryForm(known.select.form),
            _variables(known.columns),
            frozenset(_variables(known.certain)),
            tuple(occurrences),
            (*found.reasons, *found.volatile),
            tuple(found.volatile),
            known.select.distinct,
            None if grouped is None else _variables(grouped),
            found.fickle,
            tuple(found.inner),
            self._lifted(),
            _variables(sorted(found.loose & found.certain)),
            known,
            self._constants,
        )

    def _term(self, constant: Constant) -> Term:
        text = constant.text
        if constant.slot is not None:
            text = self._constants[constant.slot] + constant.suffix
        return term(text, self._base, self._prologue)

    def _place(self, place: str | Constant | None) -> Place:
        if place is None:
            return None
        return Variable(place) if isinstance(place, str) else self._term(place)

    def _occurrence(self, pattern: Pattern, graphs: Graphs, full: bool) -> Occurrence:
        keys = () if full else tuple(Variable(name) for name in sorted(pattern.keys & self._known.allowed))
        return Occurrence(
            self._place(pattern.subject),
            self._place(pattern.predicate),
            self._place(pattern.object),
            graphs,
            keys,
            pattern.closure,
            pattern.existence,
            pattern.blank_subject,
        )

    def _dataset(self) -> tuple[Graphs, frozenset[NamedNode] | None]:
        """The default graph, and the named ones (None: all)."""
        query, select = self._query, self._known.select
        if query.readable is not None:
            return self._visible(query.readable)
        if query.default_graphs or query.named_graphs:  # SPARQL 1.1 Protocol, 2.1.4
            return Graphs(_iris(query.default_graphs)), _iris(query.named_graphs)
        everything = Graphs(None, unnamed=True)
        if select.default_graphs or select.named_graphs:
            default = self._graph_names(select.default_graphs)
            named = self._graph_names(select.named_graphs)
            return everything if self._union else Graphs(default), named
        return everything if self._union else Graphs(_NONE, unnamed=True), None

    def _visible(self, readable: frozenset[str]) -> tuple[Graphs, frozenset[NamedNode] | None]:
        query, select = self._query, self._known.select
        own = [
            tuple(graph.value for graph in self._graph_names(names))
            for names in (select.default_graphs, select.named_graphs)
        ]
        default, named = visible(readable, (query.default_graphs, query.named_graphs), own, union=self._union)
        return Graphs(_iris(set(default) - {DEFAULT}), unnamed=DEFAULT in default), _iris(named)

    def _graph_names(self, names: Iterable[Constant]) -> frozenset[NamedNode]:
        return frozenset(name for name in map(self._term, names) if isinstance(name, NamedNode))

    def _graphs(self, context: Context, default: Graphs, named: frozenset[NamedNode] | None) -> Graphs:
        if context.kind == "default":
            return default
        if context.name is not None:
            one = self._graph_names([context.name])
            return Graphs(one if named is None else one & named)
        return Graphs(named, variable=Variable(context.variable) if context.variable else None)

    def _lifted(self) -> Lifted | None:
        lifting = self._known.lifting
        if lifting is None:
            return None
        return Lifted(
            replace(self._query, sparql=lifting.text.filled(self._constants)),
            _variables(lifting.variables),
            tuple(map(self._term, lifting.constants)),
            tuple(
                Variable(column) if isinstance(column, str) else self._term(column)
                for column in lifting.columns
            ),
            tuple(
                Condition(Variable(one.variable), one.operator, self._term(one.constant))
                for one in lifting.comparisons
            ),
        )


def _prologue(declared: tuple[tuple[str, str], ...], own: str) -> str:
    return "\n".join([*(f"PREFIX {name}: <{iri}>" for name, iri in declared), own])


def _iris(graphs: Iterable[str]) -> frozenset[NamedNode]:
    return frozenset(map(NamedNode, graphs))


def _variables(names: Iterable[str]) -> tuple[Variable, ...]:
    return tuple(map(Variable, names))


def _named(place: Place, node: Node | None = None) -> Term | str:
    if isinstance(place, Variable):
        return place.value
    if place is None:
        assert isinstance(node, str), "a blank node of the pattern"
        return node
    return place


def _words(occurrence: Occurrence) -> str:
    if occurrence.existence:
        return "any graph that comes or goes"
    named = [
        f"{word} {place}"
        for word, place in (
            ("subject", occurrence.subject),
            ("predicate", occurrence.predicate),
            ("object", occurrence.object),
        )
        if place is not None and not isinstance(place, Variable)
    ]
    return f"any quad with {', '.join(named)}" if named else "any quad"

"""Random queries of the kinds that applications hold, and data and updates that meet them, for Hypothesis.

Things have a type, values, a time, and are in rooms that are in houses.  The vocabulary is small, so that everything keeps
meeting everything; values are numbers in all forms that they can be written in, and what is no number.
"""

from __future__ import annotations

from hypothesis import strategies as st

from triplewire.broker.model import GraphEdit, GraphWrite, Query, Update

from .sparql_strategies import one_of_weighted

EX = "http://example.org/"
PROLOGUE = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
THINGS, ROOMS, TYPES, GRAPHS = (":a", ":b", ":c"), (":kitchen", ":hall"), (":Lamp", ":Door"), (":g", ":h")
# Sums of these are exact in whatever order they are made, and no two are equal and yet another term.
PLAIN_NUMBERS = ("0", "1", "01", "2", "2.5", "-3", "10", "0.25")
NUMBERS = (*PLAIN_NUMBERS, "1.0", "1e0", "'2'^^xsd:float", "'NaN'^^xsd:double", "1e400", "'x'^^xsd:integer")
DATES = (
    "'2020-01-01T00:00:00Z'^^xsd:dateTime",
    "'2021-06-01T12:00:00+02:00'^^xsd:dateTime",
    "'2020-01-01'^^xsd:date",
)
TEXTS = ("'x'", "'2'", "''", "'y'@en", "true")

things, rooms, types, graphs = map(st.sampled_from, (THINGS, ROOMS, TYPES, GRAPHS))
numbers, plain_numbers = st.sampled_from(NUMBERS), st.sampled_from(PLAIN_NUMBERS)
dates, words = st.sampled_from(DATES), st.sampled_from(TEXTS)
values = one_of_weighted((4, numbers), (2, words), (1, dates))
operators = st.sampled_from(("<", "<=", ">", ">=", "=", "!="))
missing = st.sampled_from((":missing", "'missing'", "999"))


# --- data -------------------------------------------------------------------------------------------------------


def triples(*, blanks: bool = True, number=values):
    """One triple of the vocabulary; without blanks also for DELETE DATA."""
    subjects = one_of_weighted((6, things), (1, st.just("_:x"))) if blanks else things
    ends = one_of_weighted((4, things), (1, rooms), (1, st.just("_:x" if blanks else ":a")))
    terms = st.builds("<<( {} :value {} )>>".format, things, st.sampled_from(("1", "2")))
    return one_of_weighted(
        (2, st.builds("{} a {}".format, subjects, types)),
        (4, st.builds("{} :value {}".format, subjects, number)),
        (2, st.builds("{} :at {}".format, subjects, dates)),
        (3, st.builds("{} :in {}".format, subjects, rooms)),
        (2, st.builds("{} :in {}".format, rooms, st.sampled_from((":house", ":kitchen")))),
        (3, st.builds("{} :next {}".format, subjects, ends)),
        (1, st.builds("{} :label {}".format, subjects, words)),
        (1, st.builds("{} :says {}".format, subjects, terms)),
    )


def blocks(*, blanks: bool = True, number=values):
    """The inside of INSERT DATA, in one graph or two."""
    some = st.lists(triples(blanks=blanks, number=number), min_size=1, max_size=5).map(" . ".join)
    return one_of_weighted(
        (4, some),
        (2, st.builds("GRAPH {} {{ {} }}".format, graphs, some)),
        (1, st.builds("GRAPH :g {{ {0} }} GRAPH :h {{ {0} }}".format, some)),
        (1, st.builds("{0} GRAPH :h {{ {0} }}".format, some)),
    )


# Everything about each thing, so that most queries have an answer; in the default graph, and a part of it in others.
FULL = (
    ":a a :Lamp ; :value 1 , 2.5 ; :at '2020-01-01T00:00:00Z'^^xsd:dateTime ; :in :kitchen ; :next :b ; :label 'x' . "
    ":b a :Lamp , :Door ; :value 2 ; :at '2020-01-01'^^xsd:date ; :in :kitchen , :hall ; :next :c , :b . "
    ":c a :Door ; :value 10 , 1 ; :in :hall ; :next :a , _:x . _:x a :Lamp ; :value 0.25 ; :in :hall . "
    ":kitchen :in :house . :hall :in :kitchen . :a :says <<( :b :value 2 )>> , <<( :a :value 1 )>> . "
    "GRAPH :g { :a a :Lamp ; :value 1 ; :in :kitchen ; :next :b . :b :value 2 ; :in :hall } "
    "GRAPH :h { :a :value 1 , 10 ; :next :c . :c a :Door ; :value 2 ; :in :hall . :hall :in :house }"
)


# --- updates ----------------------------------------------------------------------------------------------------

_PREDICATES = st.sampled_from((":value", ":next", ":in", "a", ":at"))
_REFERENCES = st.sampled_from(("DEFAULT", "GRAPH :g", "GRAPH :h", "GRAPH :new"))
_SOME_REFERENCES = st.sampled_from(("DEFAULT", "NAMED", "ALL", "GRAPH :g", "GRAPH :h", "GRAPH :new"))


def operations(number=values):
    """One operation of an update."""
    return one_of_weighted(
        (6, blocks(number=number).map("INSERT DATA {{ {} }}".format)),
        (4, blocks(blanks=False, number=number).map("DELETE DATA {{ {} }}".format)),
        (
            4,
            st.builds(
                "DELETE {{ {0} :value ?v }} INSERT {{ {0} :value {1} }} WHERE {{ OPTIONAL {{ {0} :value ?v }} }}".format,
                things,
                number,
            ),
        ),
        (2, st.builds("DELETE WHERE {{ ?s {} ?o }}".format, _PREDICATES)),
        (2, st.builds("DELETE WHERE {{ {} ?p ?o }}".format, things)),
        (
            2,
            st.builds(
                "DELETE {{ ?s {0} ?o }} INSERT {{ ?s {1} ?o }} WHERE {{ ?s {0} ?o }}".format,
                _PREDICATES,
                _PREDICATES,
            ),
        ),
        (1, st.builds("INSERT {{ ?s :next [ :value {} ] }} WHERE {{ ?s a ?t }}".format, number)),
        (
            1,
            st.builds(
                "INSERT {{ GRAPH {} {{ ?s ?p ?o }} }} WHERE {{ ?s ?p ?o . ?s a {} }}".format, graphs, types
            ),
        ),
        (
            1,
            st.builds("WITH {} DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o . ?s :in {} }}".format, graphs, rooms),
        ),
        (1, st.builds("{} SILENT {}".format, st.sampled_from(("CLEAR", "DROP")), _SOME_REFERENCES)),
        (1, st.builds("CREATE SILENT GRAPH {}".format, st.sampled_from((":g", ":h", ":new")))),
        (
            1,
            st.builds(
                "{} SILENT {} TO {}".format,
                st.sampled_from(("COPY", "MOVE", "ADD")),
                _REFERENCES,
                _REFERENCES,
            ),
        ),
    )


_WRITES = st.builds(
    GraphWrite,
    st.sampled_from(GraphEdit),
    st.sampled_from((None, f"{EX}g", f"{EX}h")),
    st.sampled_from(
        ("", f"<{EX}a> <{EX}in> <{EX}hall> .", f'_:x <{EX}value> "1" .\n<{EX}b> <{EX}next> _:x .')
    ),
)


def changes(number=values):
    """An update of one operation or several, or a write to the Graph Store."""
    texts = st.lists(operations(number), min_size=1, max_size=3).map(" ; ".join)
    return one_of_weighted((9, texts.map(lambda text: Update(PROLOGUE + text))), (1, _WRITES))


# So much of one subject that a star is not looked up at once any more.
HUB = Update(
    f"{PROLOGUE}INSERT DATA {{ :a :next {', '.join(f':n{number}' for number in range(40))} . :n7 :value 2 }}"
)


# --- patterns ---------------------------------------------------------------------------------------------------

_SUBJECTS = one_of_weighted((5, st.just("?s")), (2, things))
_STARS = st.lists(
    st.one_of(
        st.just("a ?t"),
        types.map("a {}".format),
        *[st.just(":value ?v")] * 5,
        st.just(":value ?w"),
        numbers.map(":value {}".format),
        *[st.just(":in ?r")] * 2,
        rooms.map(":in {}".format),
        st.just(":at ?d"),
        st.just(":next ?n"),
        things.map(":next {}".format),
        st.just(":next [ :value ?v ]"),
        st.just(":label ?l"),
        missing.map(":value {}".format),
    ),
    min_size=1,
    max_size=3,
).map(" ; ".join)
_OTHERS = st.one_of(
    st.sampled_from(
        (
            "?s :next ?s",
            "?s ?p ?s",
            "?s ?p ?o",
            "?s :next ?n . ?n :next ?s",
            "?s :next ?n . ?n :next ?m . ?m :value ?v",
            "?s :in ?r . ?r :in ?o",
            "?s :value ?v . ?n :value ?v",
            "?s :value ?v . ?n :at ?d",
            "?s :value ?v , ?w",
            "_:k :value ?v . ?s :next _:k",
            "[] :in ?r ; :value ?v . ?s :in ?r",
            "?s :says <<( ?n :value ?v )>>",
            "?s :says <<( :a :value ?v )>>",
            "?s :says <<( :a :value 1 )>>",
            "?s :says ?o",
            "?s :next/:value ?v",
            "?s :in/:in ?o",
            "?s ^:next ?n",
            "?s :next+ ?n",
            "?s :next* ?n",
            "?s :next? ?n",
            "?s (:next|:in) ?n",
            "?s !:next ?n",
            ":a :next*/:value ?v",
        )
    ),
    st.builds("{} ?p {}".format, things, one_of_weighted((1, st.just("?o")), (1, rooms))),
    st.builds("{} :value ?v . ?n :in {}".format, things, rooms),
)
basics = one_of_weighted((5, st.builds("{} {}".format, _SUBJECTS, _STARS)), (3, _OTHERS))
_VARIABLES = ("?s", "?v", "?w", "?n", "?r", "?d", "?t", "?o", "?l", "?m")
variables = one_of_weighted((4, st.just("?s")), (5, st.just("?v")), (3, st.sampled_from(_VARIABLES)))
_comparisons = one_of_weighted(
    (5, st.builds("?v {} {}".format, operators, numbers)),
    (1, st.builds("?w {} {}".format, operators, numbers)),
    (1, st.builds("{1} {0} ?v".format, operators, numbers)),
    (1, st.builds("?v {} {}".format, operators, words)),
    (1, st.builds("?d {} {}".format, operators, dates)),
    (1, st.builds("?v {} ?w".format, operators)),
)
filters = one_of_weighted(
    (4, _comparisons.map("FILTER({})".format)),
    (3, st.lists(_comparisons, min_size=2, max_size=3).map(lambda some: f"FILTER({' && '.join(some)})")),
    (1, st.builds("FILTER({} || {})".format, _comparisons, _comparisons)),
    (1, _comparisons.map("FILTER(!({}))".format)),
    (1, variables.map("FILTER(BOUND({}))".format)),
    (1, variables.map("FILTER(!BOUND({}))".format)),
    (1, st.builds("FILTER({} = {})".format, variables, st.one_of(things, rooms))),
    (1, st.builds("FILTER({} IN ({}, {}))".format, variables, things, values)),
    (1, st.builds("FILTER(CONTAINS(STR({}), 'e'))".format, variables)),
    (1, st.just("FILTER(ISNUMERIC(?v))")),
)


def patterns(depth: int = 2):
    """What stands between the braces of WHERE."""
    if not depth:
        return basics
    inner = st.deferred(lambda: patterns(depth - 1))
    extras = one_of_weighted(
        (3, inner.map("OPTIONAL {{ {} }}".format)),
        (5, filters),
        (2, inner.map("FILTER NOT EXISTS {{ {} }}".format)),
        (1, inner.map("FILTER EXISTS {{ {} }}".format)),
        (2, inner.map("MINUS {{ {} }}".format)),
        (2, st.builds("{{ {} }} UNION {{ {} }}".format, inner, inner)),
        (2, st.builds("GRAPH {} {{ {} }}".format, one_of_weighted((1, graphs), (1, st.just("?g"))), inner)),
        (1, st.builds("GRAPH ?g {{ }} {}".format, inner)),
        (1, st.builds("VALUES {} {{ {} {} UNDEF }}".format, variables, things, values)),
        (1, st.builds("VALUES (?s ?v) {{ ({} {}) ({} UNDEF) }}".format, things, values, things)),
        (1, st.builds("{{ SELECT {} {{ {} }} }}".format, variables, inner)),
        (1, st.builds("{{ SELECT DISTINCT ?s ?v {{ {} }} }}".format, inner)),
        (1, st.builds("{{ SELECT ?s (COUNT(*) AS ?count) {{ {} }} GROUP BY ?s }}".format, inner)),
        (1, inner.map("{{ {} }}".format)),
    )
    whole = st.builds(
        lambda first, more: " . ".join([first, *more]) if not more else f"{first} . {' '.join(more)}",
        basics,
        st.lists(extras, max_size=3),
    )
    inside = st.builds("GRAPH {} {{ {} }}".format, one_of_weighted((1, graphs), (1, st.just("?g"))), whole)
    bound = st.builds(
        "{} BIND({} AS ?bound)".format,
        whole,
        st.sampled_from(("STR(?v)", "?v + 1", "COALESCE(?w, 0)", "IF(BOUND(?n), 1, 2)", "?s")),
    )
    unions = st.builds("{{ {} }} UNION {{ {} }}".format, inner, inner)
    return one_of_weighted((10, whole), (3, inside), (1, bound), (1, unions))


# --- queries ----------------------------------------------------------------------------------------------------

_SHOWN = st.lists(variables, min_size=1, max_size=3, unique=True).map(" ".join)
_FROM = one_of_weighted(
    (12, st.just("")), (1, st.just("FROM :g")), (1, st.just("FROM :g FROM :h")), (1, st.just("FROM NAMED :g"))
)
_TEMPLATES = st.sampled_from(
    (
        "?s :has ?v",
        "?s :has ?v ; :also ?n",
        "?n :of ?s . ?r :holds ?s",
        "?s :has [ :is ?v ]",
        "_:one :is ?s . _:one :has ?v",
        ":a :list ( ?v ?n )",
        ":all :have :some",
    )
)
_KEYS = st.sampled_from(("?s", "?r", "?t", "?s ?r", "?n", "?g", "?v"))
_HAVING = one_of_weighted(
    (4, st.just("")),
    (1, st.just("HAVING(COUNT(*) > 1)")),
    (1, st.just("HAVING(MAX(?v) > 1)")),
    (1, st.just("HAVING(SUM(?v) >= 2)")),
)
_SELECTS = one_of_weighted(
    (5, st.builds("SELECT {} {} {{ {} }}".format, _SHOWN, _FROM, patterns())),
    (3, st.builds("SELECT * {} {{ {} }}".format, _FROM, patterns())),
    (2, st.builds("SELECT DISTINCT {} {{ {} }}".format, _SHOWN, patterns())),
    (1, st.builds("SELECT ({} AS ?constant) {} {{ {} }}".format, values, _SHOWN, patterns())),
    (1, st.builds("SELECT ?s (STR(?v) AS ?text) {{ {} }}".format, patterns())),
    (1, st.builds("SELECT {} {{ {} }} ORDER BY DESC({}) ?s".format, _SHOWN, patterns(), variables)),
    # What a slice holds is sure where rows that tie are equal.
    (1, st.builds("SELECT (STR({}) AS ?k) {{ {} }} ORDER BY ?k LIMIT 2".format, variables, patterns())),
    (1, st.builds("SELECT {} {{ {} }} VALUES ?s {{ {} }}".format, _SHOWN, patterns(), things)),
)
_GRAPHS_MADE = one_of_weighted(
    (3, st.builds("CONSTRUCT {{ {} }} {{ {} }}".format, _TEMPLATES, patterns())),
    (1, st.builds("CONSTRUCT WHERE {{ {} {} }}".format, _SUBJECTS, st.just(":value ?v ; :in ?r"))),
    (1, st.builds("DESCRIBE {}".format, things)),
)
_DATASETS = one_of_weighted(
    (14, st.just(((), ()))),
    (1, st.just(((f"{EX}g",), ()))),
    (1, st.just(((f"{EX}g", f"{EX}h"), (f"{EX}h",)))),
    (1, st.just(((), (f"{EX}g",)))),
)


def _asked(texts):
    return st.builds(lambda text, dataset: Query(PROLOGUE + text, *dataset), texts, _DATASETS)


queries = _asked(
    one_of_weighted(
        (7, _SELECTS), (2, st.builds("ASK {} {{ {} }}".format, _FROM, patterns())), (2, _GRAPHS_MADE)
    )
)
_FUNCTIONS = st.sampled_from(
    (
        "COUNT(*)",
        "COUNT(?v)",
        "COUNT(DISTINCT ?v)",
        "SUM(?v)",
        "AVG(?v)",
        "MIN(?v)",
        "MAX(?v)",
        "SUM(?v) / COUNT(*)",
        "COUNT(?s)",
        "SUM(?w)",
    )
)
# Over PLAIN_NUMBERS only: of numbers that are equal, or not exact, what comes out depends on who comes first.
aggregates = _asked(
    one_of_weighted(
        (
            5,
            st.builds(
                "SELECT {0} ({1} AS ?x) ({2} AS ?y) {{ {3} }} GROUP BY {0} {4}".format,
                _KEYS,
                _FUNCTIONS,
                _FUNCTIONS,
                patterns(1),
                _HAVING,
            ),
        ),
        (
            3,
            st.builds("SELECT {0} ({1} AS ?x) {{ {2} }} GROUP BY {0}".format, _KEYS, _FUNCTIONS, patterns(1)),
        ),
        (
            1,
            st.builds("SELECT ({1} AS ?x) {{ {2} }} GROUP BY {0}".format, _KEYS, _FUNCTIONS, patterns(1)),
        ),
        (3, st.builds("SELECT ({} AS ?x) {{ {} }}".format, _FUNCTIONS, patterns(1))),
        (
            1,
            st.builds("SELECT DISTINCT ({1} AS ?x) {{ {2} }} GROUP BY {0}".format, _KEYS, _FUNCTIONS, basics),
        ),
        (
            1,
            st.builds(
                "SELECT ?s ({} AS ?x) {{ {} }} GROUP BY ?s ORDER BY ?x ?s".format, _FUNCTIONS, patterns(1)
            ),
        ),
    )
)
# The same with other constants: what one unit serves.
_SHAPES = (
    "SELECT ?s {{ ?s :value ?v ; a {type} FILTER(?v {op} {number}) }}",
    "SELECT ?s ?v {{ ?s :value ?v FILTER(?v > {number} && ?v <= {other}) }}",
    "SELECT ?s ?v ?w {{ ?s :value ?v ; :next ?n . ?n :value ?w FILTER(?v {op} {number}) FILTER(?w < {other}) }}",
    "SELECT ?v {{ {thing} :value ?v }}",
    "SELECT ?s {{ ?s :in {room} . {room} :in ?o }}",
    "SELECT ?s {{ ?s :value {number} }}",
    "SELECT ?s ?v {{ GRAPH ?g {{ ?s :in {room} ; :value ?v }} }}",
    "SELECT ?s ?v {{ GRAPH :g {{ ?s :in {room} OPTIONAL {{ ?s :value ?v }} }} }}",
    "SELECT ({number} AS ?c) ?s {{ ?s a {type} ; :in {room} }}",
    "ASK {{ ?s :in {room} ; :value ?v FILTER(?v {op} {number}) }}",
    "ASK {{ {thing} :next ?n }}",
    "SELECT DISTINCT ?v {{ ?s :in {room} ; :value ?v }}",
    "SELECT DISTINCT ?v {{ ?s :in {room} ; :value ?v FILTER(?v {op} {number}) }}",
    "SELECT ?s {{ ?s :in {room} FILTER NOT EXISTS {{ ?s :next {thing} }} }}",
    "SELECT ?s ?d {{ ?s a {type} ; :at ?d MINUS {{ ?s :in {room} }} }}",
    "SELECT * {{ ?s a {type} {{ ?s :value ?v }} UNION {{ ?s :in ?r }} FILTER(?v > {number}) }}",
)
_COUNTING_SHAPES = (
    "SELECT (COUNT(*) AS ?x) {{ ?s :in {room} }}",
    "SELECT ?s (COUNT(?v) AS ?x) {{ ?s a {type} ; :value ?v }} GROUP BY ?s",
    "SELECT ?s (SUM(?v) AS ?x) {{ ?s a {type} ; :value ?v }} GROUP BY ?s HAVING(COUNT(*) > 1)",
    "SELECT ?r (MAX(?v) AS ?x) {{ ?s :in ?r ; :value ?v ; a {type} }} GROUP BY ?r",
)


def cases(shapes=_SHAPES):
    """A query that differs from others in constants only."""
    return _asked(
        st.builds(
            lambda shape, thing, room, type_, operator, number, other: shape.format(
                thing=thing, room=room, type=type_, op=operator, number=number, other=other
            ),
            st.sampled_from(shapes),
            things,
            rooms,
            types,
            operators,
            numbers,
            numbers,
        )
    )


counting_cases = cases(_COUNTING_SHAPES)

# --- constants in all their forms -------------------------------------------------------------------------------

CONSTANTS = (
    *("1", "01", "1.0", "1.00", "1e0", "-0", "0", "-0.0", "9223372036854775808", "0.1234567890123456789012"),
    *("'01'^^xsd:integer", "'+1'^^xsd:integer", "'1'^^xsd:byte", "'x'^^xsd:integer", "'INF'^^xsd:float"),
    *(
        "'-0'^^xsd:double",
        "'NaN'^^xsd:double",
        "1e400",
        "'1'",
        "'1'@EN",
        "'1'@en",
        "true",
        "'1'^^xsd:boolean",
    ),
    *("'2020-01-01T00:00:00+00:00'^^xsd:dateTime", "'2020-01-01T00:00:00Z'^^xsd:dateTime", ":a", f"<{EX}a>"),
)
constants = st.sampled_from(CONSTANTS)
_PLACES = (
    "SELECT ?s {{ ?s :value {c} }}",
    "SELECT ?s{{?s :value {c}}} # the same",
    "SELECT ({c} AS ?k) ?s {{ ?s :value {d} }}",
    "SELECT ?s ({c} AS ?k) {{ ?s :value {d} OPTIONAL {{ ?s :next {c} }} }}",
    "ASK {{ ?s :value {c} }}",
    "ASK{{?s :value {c} .}}",
    "SELECT ?s {{ ?s :value ?v FILTER(?v = {c}) }}",
    "SELECT ?s {{ ?s :value ?v . FILTER(?v > {c}) }}",
    "SELECT ?s {{ ?s :value ?v FILTER({c} >= ?v) }}",
    "SELECT ?s ?v {{ ?s :value ?v FILTER(?v <= {c} && ?v >= {d}) }}",
    "SELECT ?v {{ ?s :value ?v FILTER(?v < {c}) }}",
    "SELECT ?s (COUNT(*) AS ?n) {{ ?s :value {c} }} GROUP BY ?s",
    "SELECT (COUNT(?s) AS ?n) {{ ?s :value {c} ; :next ?w }}",
    "SELECT ?w (SUM(?v) AS ?n) {{ ?s :value ?v ; :next ?w ; :label {c} }} GROUP BY ?w",
    "SELECT DISTINCT ?w {{ ?s :value {c} ; :next ?w }}",
    "CONSTRUCT {{ ?s :made {c} }} {{ ?s :value {c} }}",
    "CONSTRUCT {{ ?s :made [ :of {d} ] }} {{ ?s :value {c} }}",
    "SELECT ?s {{ VALUES ?v {{ {c} {d} }} ?s :value ?v }}",
    "SELECT ?s ?k {{ ?s :value {c} BIND({d} AS ?k) }}",
    "SELECT ?s {{ ?s :value {c} MINUS {{ ?s :next {d} }} }}",
    "SELECT ?s {{ ?s :value {c} FILTER NOT EXISTS {{ ?s :next {d} }} }}",
    "SELECT ?s ?g {{ GRAPH ?g {{ ?s :value {c} }} }}",
    "SELECT ?s {{ ?s :next/:value {c} }}",
    "SELECT ?s {{ ?s :value ?v FILTER(?v IN ({c}, {d})) }}",
)
constant_cases = st.builds(
    lambda shape, c, d: Query(PROLOGUE + shape.format(c=c, d=d)),
    st.sampled_from(_PLACES),
    constants,
    constants,
)

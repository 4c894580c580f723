"""Random datasets, queries and updates over a vocabulary so small that they keep meeting each other.

Everything is drawn grammar-directed, so nearly every text is SPARQL; what Oxigraph refuses is refused for all alike.
"""

from __future__ import annotations

from hypothesis import strategies as st

PROLOGUE = "PREFIX : <http://example.org/> "
IRIS = (":a", ":b", ":c")
PREDICATES = (":p", ":q", ":r")
LITERALS = ("1", "2", "'x'", "'y'@en", "1.50", "true")
GRAPHS = (":g", ":h")
EX_GRAPHS = ("http://example.org/g", "http://example.org/h")
NAMES = ("s", "o", "x", "y", "z")

variables = st.sampled_from([f"?{name}" for name in NAMES])
iris = st.sampled_from(IRIS)
predicates = st.sampled_from(PREDICATES)
literals = st.sampled_from(LITERALS)
objects = st.one_of(iris, literals)


def one_of_weighted(*pairs):
    """A choice in which each strategy is as frequent as its number says."""
    return st.sampled_from([strategy for number, strategy in pairs for _ in range(number)]).flatmap(
        lambda s: s
    )


# --- data -------------------------------------------------------------------------------------------------------

blank_labels = st.sampled_from(["_:m", "_:n"])


@st.composite
def data_blocks(draw, *, blanks: bool = True):
    """The inside of INSERT DATA or, without blanks, of DELETE DATA."""
    subjects = st.one_of(iris, blank_labels) if blanks else iris
    values = st.one_of(objects, blank_labels) if blanks else objects
    triples = draw(st.lists(st.tuples(subjects, predicates, values), min_size=1, max_size=4))
    text = " . ".join(" ".join(triple) for triple in triples)
    graph = draw(st.sampled_from([None, None, *GRAPHS]))
    return text if graph is None else f"GRAPH {graph} {{ {text} }}"


# --- patterns ---------------------------------------------------------------------------------------------------

paths = st.one_of(
    predicates,
    predicates,
    st.builds("{}/{}".format, predicates, predicates),
    st.builds("({}|{})".format, predicates, predicates),
    st.builds("^{}".format, predicates),
    st.builds("{}+".format, predicates),
    st.builds("{}*".format, predicates),
    st.builds("{}?".format, predicates),
    st.builds("!{}".format, predicates),
)
triples = st.builds(
    "{} {} {} .".format,
    one_of_weighted((3, variables), (1, iris)),
    one_of_weighted((4, predicates), (1, variables), (2, paths)),
    one_of_weighted((3, variables), (1, objects)),
)
filters = st.one_of(
    st.builds("FILTER({} = {})".format, variables, objects),
    st.builds("FILTER({} != {})".format, variables, variables),
    st.builds("FILTER(BOUND({}))".format, variables),
    st.builds("FILTER(!BOUND({}))".format, variables),
    st.builds("FILTER(ISIRI({}))".format, variables),
    st.builds("FILTER({} > 1)".format, variables),
    st.builds("FILTER({} IN ({}, {}))".format, variables, objects, objects),
)


def groups(depth: int = 2):
    """What stands between the braces of WHERE."""
    inner = st.deferred(lambda: groups(depth - 1)) if depth else triples
    parts = [(6, triples), (2, filters)]
    if depth:
        parts += [
            (2, st.builds("OPTIONAL {{ {} }}".format, inner)),
            (2, st.builds("{{ {} }} UNION {{ {} }}".format, inner, inner)),
            (1, st.builds("MINUS {{ {} }}".format, inner)),
            (1, st.builds("FILTER EXISTS {{ {} }}".format, inner)),
            (1, st.builds("FILTER NOT EXISTS {{ {} }}".format, inner)),
            (2, st.builds("GRAPH {} {{ {} }}".format, st.sampled_from([*GRAPHS, "?g"]), inner)),
            (1, st.builds("{{ SELECT {} WHERE {{ {} }} }}".format, variables, inner)),
            (1, st.builds("{{ SELECT DISTINCT * WHERE {{ {} }} }}".format, inner)),
            (1, st.builds("VALUES {} {{ {} {} }}".format, variables, objects, objects)),
            (1, st.builds("{{ {} }}".format, inner)),
        ]
    body = st.lists(one_of_weighted(*parts), min_size=1, max_size=3).map(" ".join)
    return one_of_weighted(
        (8, body),
        (1, st.builds("{} BIND(STR({}) AS ?bound{})".format, body, variables, st.integers(1, 99))),
    )


# --- queries ----------------------------------------------------------------------------------------------------

projections = st.lists(variables, min_size=1, max_size=3, unique=True).map(" ".join)
aggregates = st.sampled_from(["COUNT", "SUM", "MIN", "MAX", "SAMPLE"])
selects = st.one_of(
    st.builds("SELECT {} WHERE {{ {} }}".format, projections, groups()),
    st.builds("SELECT * WHERE {{ {} }}".format, groups()),
    st.builds("SELECT DISTINCT {} WHERE {{ {} }}".format, projections, groups()),
    st.builds("SELECT {} FROM :g WHERE {{ {} }}".format, projections, groups()),
    st.builds("SELECT {} FROM :g FROM NAMED :h WHERE {{ {} }}".format, projections, groups()),
    st.builds("SELECT (COUNT(*) AS ?n) WHERE {{ {} }}".format, groups()),
    # SAMPLE, MIN and the like over mixed terms may depend on the order of evaluation: COUNT and SUM do not
    st.builds(
        "SELECT ?s (COUNT({}) AS ?n) WHERE {{ ?s :p ?o . {} }} GROUP BY ?s".format, variables, groups(1)
    ),
    st.builds(
        "SELECT ?s (SUM(?o) AS ?n) WHERE {{ ?s :p ?o . {} }} GROUP BY ?s HAVING (COUNT(*) > 1)".format,
        groups(1),
    ),
    st.builds("SELECT {} WHERE {{ {} }} ORDER BY {}".format, projections, groups(), variables),
    # what a slice holds is sure where rows that tie are equal
    st.builds(
        "SELECT (STR({}) AS ?t) WHERE {{ {} }} ORDER BY {} LIMIT {} OFFSET {}".format,
        variables,
        groups(),
        st.sampled_from(["?t", "DESC(?t)"]),
        st.integers(0, 3),
        st.integers(0, 2),
    ),
)
asks = st.builds("ASK {{ {} }}".format, groups())
templates = st.sampled_from(
    [
        "?s :made ?o",
        "?o :made _:node . _:node :of ?s",
        "?s :made [ :value ?o ; :twice ?x ]",
        "?s :list ( ?o ?x )",
        ":a :made _:one",
    ]
)
constructs = st.builds("CONSTRUCT {{ {} }} WHERE {{ {} }}".format, templates, groups(1))
describes = st.one_of(
    st.builds("DESCRIBE {}".format, iris), st.builds("DESCRIBE ?s WHERE {{ {} }}".format, groups(1))
)
queries = one_of_weighted((6, selects), (1, asks), (2, constructs), (1, describes)).map(PROLOGUE.__add__)


# --- updates ----------------------------------------------------------------------------------------------------

graph_refs = st.sampled_from(["DEFAULT", *(f"GRAPH {graph}" for graph in GRAPHS)])
silents = st.sampled_from(["", "SILENT "])
update_templates = st.sampled_from(
    [
        "?s :p ?o",
        "?s :q ?x",
        "?o :r ?s",
        "GRAPH :g { ?s :p ?o }",
        "GRAPH :h { ?s :q ?o . ?o :q ?s }",
        ":a :p ?o . GRAPH :g { :b :q ?x }",
    ]
)
blank_templates = st.sampled_from(["?s :r _:new", "_:new :p ?o ; :q ?s", "GRAPH :h { ?s :p [ :q ?o ] }"])
deletes = st.builds("DELETE {{ {} }} ".format, update_templates)
inserts = st.builds("INSERT {{ {} }} ".format, st.one_of(update_templates, blank_templates))
withs = st.sampled_from(["", "", "", "WITH :g ", "WITH :h "])
usings = st.sampled_from(["", "", "", "USING :g ", "USING NAMED :h ", "USING :g USING NAMED :h "])
wheres = st.builds("WHERE {{ ?s ?p ?o . {} }}".format, groups(1)) | st.builds(
    "WHERE {{ {} }}".format, st.one_of(triples, groups(1))
)
modifies = st.one_of(
    st.builds("{}{}{}{}{}".format, withs, deletes, inserts, usings, wheres),
    st.builds("{}{}{}{}".format, withs, deletes, usings, wheres),
    st.builds("{}{}{}{}".format, withs, inserts, usings, wheres),
    st.builds("DELETE WHERE {{ {} }}".format, update_templates),
)
operations = one_of_weighted(
    (5, st.builds("INSERT DATA {{ {} }}".format, data_blocks())),
    (2, st.builds("DELETE DATA {{ {} }}".format, data_blocks(blanks=False))),
    (5, modifies),
    (1, st.builds("{}{}{}".format, st.sampled_from(["CLEAR ", "DROP "]), silents, graph_refs)),
    (1, st.sampled_from(["CLEAR ALL", "DROP ALL", "CLEAR NAMED", "DROP NAMED"])),
    (1, st.builds("CREATE {}GRAPH {}".format, silents, st.sampled_from(GRAPHS))),
    (
        1,
        st.builds(
            "{} {}{} TO {}".format,
            st.sampled_from(["ADD", "COPY", "MOVE"]),
            silents,
            graph_refs,
            graph_refs,
        ),
    ),
)
updates = st.lists(operations, min_size=1, max_size=3).map(lambda parts: PROLOGUE + " ; ".join(parts))

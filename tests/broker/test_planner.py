"""From a request to its change: the dataset of a request, and the ways round a grammar in Python."""

from __future__ import annotations

import time

import pyoxigraph
import pytest
from pyoxigraph import Store
from support.own_time import own_time

from triplewire.broker.delta_writer import write_delta
from triplewire.broker.errors import MalformedRequest
from triplewire.broker.model import Update
from triplewire.broker.planner import Planner

PROLOGUE = "PREFIX : <http://example.org/> "

DATA = f"""{PROLOGUE} INSERT DATA {{
    :a :p 0 . :b :p 0
    GRAPH :g {{ :a :p 1 . :b :q 1 }} GRAPH :h {{ :a :p 2 . :c :p 2 }} GRAPH :i {{ :a :p 3 }} }}"""


def after(text):
    """What a store holds after an update."""
    store = pyoxigraph.Store()
    store.update(DATA)
    store.update(text)
    return set(store)


def changed_by(update):
    """What a store holds after what the planner makes of an update."""
    return changed_by_planner(Planner("http://localhost/", {}, lambda _: []), update.sparql, update)


def changed_by_planner(planner, text, update=None):
    """The same, by a planner that remembers what it has planned before."""
    store = pyoxigraph.Store()
    store.update(DATA)
    write_delta(store, planner.update(store, update or Update(text)))
    return set(store)


@pytest.mark.parametrize(
    ("default", "named"), [(["g"], []), ([], ["h"]), (["g", "h"], []), (["g"], ["h", "i"])]
)
@pytest.mark.parametrize(
    ("plain", "explicit"),
    [
        ("INSERT { :x :y ?o } WHERE { ?s :p ?o }", "INSERT { :x :y ?o } @ WHERE { ?s :p ?o }"),
        (
            "DELETE { ?s :p ?o } WHERE { ?s :p ?x . BIND(0 AS ?o) }",
            "DELETE { ?s :p ?o } @ WHERE { ?s :p ?x . BIND(0 AS ?o) }",
        ),
        (
            "DELETE { GRAPH ?g { ?s ?p ?o } } INSERT { ?g :had ?o } where { GRAPH ?g { ?s ?p ?o } }",
            "DELETE { GRAPH ?g { ?s ?p ?o } } INSERT { ?g :had ?o } @ WHERE { GRAPH ?g { ?s ?p ?o } }",
        ),
        ("DELETE WHERE { :a :p ?o }", "DELETE { :a :p ?o } @ WHERE { :a :p ?o }"),
        (
            "DELETE WHERE { GRAPH :h { ?s :p ?o # } \n } ?s ?q ?z }",
            "DELETE { GRAPH :h { ?s :p ?o } ?s ?q ?z } @ WHERE { GRAPH :h { ?s :p ?o } ?s ?q ?z }",
        ),
        ("DELETE\n# WHERE {}\nWHERE { ?s ?p 0 }", "DELETE { ?s ?p 0 } @ WHERE { ?s ?p 0 }"),
        (
            "INSERT DATA { :n :p 'WHERE USING' } ; INSERT { :x :y ?s } WHERE { ?s :p ?o } ; DELETE WHERE { ?s :q ?o } ; CLEAR GRAPH :i",
            "INSERT DATA { :n :p 'WHERE USING' } ; INSERT { :x :y ?s } @ WHERE { ?s :p ?o } ; "
            "DELETE { ?s :q ?o } @ WHERE { ?s :q ?o } ; CLEAR GRAPH :i",
        ),
        (
            "INSERT { :x :y ?n } WHERE { { SELECT (COUNT(*) AS ?n) WHERE { ?s :p ?o } } }",
            "INSERT { :x :y ?n } @ WHERE { { SELECT (COUNT(*) AS ?n) WHERE { ?s :p ?o } } }",
        ),
        ("INSERT { :x :where ?o } WHERE { ?s :p ?o }", "INSERT { :x :where ?o } @ WHERE { ?s :p ?o }"),
        ("COPY :g TO :j", "COPY :g TO :j"),
        ("INSERT DATA { :new :p 1 }", "INSERT DATA { :new :p 1 }"),
    ],
)
def test_the_dataset_of_a_request_is_using(plain, explicit, default, named):
    """The same as writing USING and USING NAMED before each WHERE, and nowhere else."""
    iri = "http://example.org/{}".format
    update = Update(PROLOGUE + plain, tuple(map(iri, default)), tuple(map(iri, named)))
    clause = "".join(f"USING :{name} " for name in default) + "".join(
        f"USING NAMED :{name} " for name in named
    )
    assert changed_by(update) == after(PROLOGUE + explicit.replace("@", clause))


@pytest.mark.parametrize(
    "text",
    [
        "WITH :g DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "INSERT { :x :y ?o } USING :h WHERE { ?s ?p ?o }",
        "INSERT { :x :y ?o } using named :h WHERE { ?s ?p ?o }",
        "INSERT DATA { :a :p 1 } ; WITH :g INSERT { :x :y ?o } WHERE { ?s ?p ?o }",
    ],
)
def test_a_dataset_in_both_places_is_refused(text):
    """SPARQL 1.1 Protocol, 2.2.3; without the request's own it is carried out."""
    changed_by(Update(PROLOGUE + text))
    for graphs in ({"using_graphs": ("http://x/",)}, {"using_named_graphs": ("http://x/",)}):
        with pytest.raises(MalformedRequest, match="one place"):
            changed_by(Update(PROLOGUE + text, **graphs))


@pytest.mark.parametrize("text", ["INSERT { :x :using 'WITH' } WHERE { ?s :with <USING> } # USING", ""])
def test_the_words_elsewhere_are_no_conflict(text):
    """In names, texts, IRIs and comments."""
    changed_by(Update(PROLOGUE + text, ("http://x/",)))


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { :a :p 0, 5 }",
        "insert data{:a :p 5 ; :q 'x', \"y\"@en , _:b . _:b :r ( 1 2 )}",
        "DELETE DATA { :a :p 0 . :b :p 0 . :z :p 0 }",
        "INSERT DATA { GRAPH :g { :a :p 1, 7 } } ;",
        "INSERT DATA { GRAPH<http://example.org/g>{:a :p 7 .} }",
        "INSERT DATA { :a :p '{' , 'PREFIX x: <y>' }",
        "INSERT DATA { :a :p 1 # a comment }\n . :b :p 2 # and one at the end\n }",
        "INSERT DATA { :a :p 1 } ; DELETE DATA { :a :p 0 }",
        "INSERT DATA { :a :p '} ; DELETE DATA {' }",
        "BASE <http://example.org/> INSERT DATA { <a> <p> 9 }",
        "INSERT DATA {}",
    ],
)
def test_data_is_read_as_oxigraph_reads_it(text):
    """The short way for plain data and the long one for the rest come to the same."""

    def shape(quads):
        dataset = pyoxigraph.Dataset(quads)
        dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
        return set(dataset)

    assert shape(changed_by(Update(PROLOGUE + text))) == shape(after(PROLOGUE + text))


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { :a :p ?x }",
        "DELETE DATA { _:x :p 1 }",
        "INSERT DATA { PREFIX x: <http://x/> x:a x:b x:c }",
        "INSERT DATA { :g { :a :b :c } }",
        "INSERT DATA { :a :p 1 } SELECT",
        "INSERT DATA { :a :p 1",
        "CREATE GRAPH :new ; INSERT { :a } WHERE {}",
    ],
)
def test_what_oxigraph_refuses_is_refused_in_its_words(text):
    """With the position in the sender's own text."""
    with pytest.raises(SyntaxError) as expected:
        Store().update(PROLOGUE + text)
    with pytest.raises(SyntaxError) as caught:
        changed_by(Update(PROLOGUE + text))
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { } " + " " * 50_000 + "x",
        "INSERT DATA { GRAPH " + "a:" * 50_000 + " x { } }",
        " " * 50_000 + "INSERT",
        "PREFIX" + " " * 50_000 + "a <b> INSERT DATA {}",
        "INSERT DATA {" + "} " * 50_000 + "x",
    ],
    ids=lambda text: text[:20],
)
def test_a_text_costs_no_more_than_its_length(text):
    """What looks like plain data for long, and is none."""
    with own_time() as took_s:
        with pytest.raises(SyntaxError):
            changed_by(Update(text))
        assert took_s() < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX {name}{number}: <http://x/{number}/> INSERT DATA {{ {name}{number}:s {name}{number}:p {number} }}",
        "PREFIX {name}{number}: <http://x/{number}/> INSERT {{ ?s {name}{number}:p 1 }} WHERE {{ ?s {name}{number}:q 1 }}",
        "PREFIX {name}{number}: <http://x/{number}/> CLEAR SILENT GRAPH {name}{number}:g",
        "PREFIX {name}{number}: <http://x/{number}/> INSERT {{}} WHERE {{ FILTER(1<{name}{number}:p&&2>1) }}",
    ],
)
@pytest.mark.parametrize("name", ["p", "p" * 70], ids=["short", "long"])
def test_thousands_of_operations_and_prefixes(text, name):
    """Each operation is read with the declarations that it uses, not with all of them."""
    whole = " ; ".join(text.format(name=name, number=number) for number in range(4000))
    started = time.process_time()
    changed_by(Update(whole))
    assert time.process_time() - started < 3


def test_a_planner_remembers_no_constants():
    """The same update with other values, relative IRIs and failures in between."""
    planner = Planner("http://localhost/", {}, lambda _: [])
    ours, theirs = pyoxigraph.Store(), pyoxigraph.Store()
    text = (
        "PREFIX : <http://example.org/> DELETE {{ {0} :value ?old }} INSERT {{ {0} :value {1} ; :said {2} }} "
        "WHERE {{ OPTIONAL {{ {0} :value ?old }} }} ; DELETE DATA {{ {0} :said 'nothing' }}"
    ).format
    for one in ("<http://x/1>", "<http://x/2>", "<3>", "<http://x/1>", "<http://x/a/../2>"):
        for value in ("1", "02.50", "-3", "'}'", '"a\\"b"', "1"):
            update = text(one, value, "'nothing'" if value == "1" else "'#'@en")
            write_delta(ours, planner.update(ours, Update(update)))
            theirs.update(update, base_iri="http://localhost/")
            assert set(ours) == set(theirs)
        with pytest.raises(SyntaxError):
            planner.update(ours, Update(text("'a literal'", 1, 2) + "nonsense"))


def test_a_prefix_that_only_oxigraph_sees():
    """It reads two comparisons where the standard's longest match is an IRI, a constant of a known shape."""
    planner = Planner("http://localhost/", {}, lambda _: [])
    text = "PREFIX c: <http://c/> PREFIX x: <http://x/> INSERT {{ ?s x:{0} ?o }} WHERE {{ ?s ?p ?o FILTER(1<{1}>0) }}"
    for name, between in (("a", "2&&c:a!=x:a&&3"), ("a", "2&&x:b!=c:b&&3"), ("a", "2&&c:b=x:b&&3")):
        update = text.format(name, between)
        assert changed_by_planner(planner, update) == after(update)


def test_the_place_of_an_error_is_that_of_the_text():
    """Also in a text of a known shape, with constants of other lengths."""
    planner = Planner("http://localhost/", {}, lambda _: [])
    text = "INSERT {{ <http://x/s> <http://x/p> {} }} WHERE {{ ?s <http://x/p> {} FILTER(?t) ?x }}".format
    for first, second in (("1", "2"), ("'long'", "'longer'"), ("22", "333")):
        with pytest.raises(SyntaxError) as expected:
            pyoxigraph.Store().update(text(first, second))
        with pytest.raises(SyntaxError) as caught:
            planner.update(pyoxigraph.Store(), Update(text(first, second)))
        assert str(caught.value) == str(expected.value)

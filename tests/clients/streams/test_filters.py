import threading

import pytest

from triplewire.clients.streams.filters import any_of, filters_of, quads_of, with_triple
from triplewire.clients.streams.new_items import new_item

TURTLE = (
    b'@prefix ex: <http://example.org/> . ex:s a ex:Sensor ; ex:value 3 ; ex:same ex:s ; ex:name "n"@en .'
)


def turtle(body=TURTLE, source="s", syntax="text/turtle", **fields):
    return new_item(source, syntax, body, **fields)


def passing(item, *given):
    return all(passes(item) for passes in filters_of(given))


@pytest.mark.parametrize(
    ("name", "value", "passes"),
    [
        ("source", "s", True),
        ("source", "t", False),
        ("application", "a", True),
        ("application", "", False),
        ("event-type", "T", True),
        ("event-type", "t", False),
        ("vocabulary", "http://example.org/", True),
        ("vocabulary", "http://www.w3.org/2001/XMLSchema#int", True),
        ("vocabulary", "http://example.com/", False),
        ("triple", "* * *", True),
        ("triple", "?s ?p ?s", True),
        ("triple", "?s <http://example.org/value> ?s", False),
        ("triple", "* a <http://example.org/Sensor>", True),
        ("triple", '* <http://example.org/name> "n"@en', True),
        ("triple", '* <http://example.org/name> "n"', False),
        ("triple", "<http://example.org/s> * 3", True),
        ("ask", "ASK { ?s <http://example.org/value> ?v FILTER(?v > 2) }", True),
        ("ask", "ASK { ?s <http://example.org/value> ?v FILTER(?v > 3) }", False),
    ],
)
def test_each_kind_looks_at_its_own(name, value, passes):
    """Names as servers have them as parameters."""
    assert passing(turtle(event_type="T", application_id="a"), (name, value)) is passes


def test_of_one_name_any_value_counts_and_all_names_must_be_met():
    """As in a URL."""
    item = turtle(event_type="T")

    assert passing(item, ("source", "x"), ("source", "s"))
    assert passing(item, ("triple", "* * 7"), ("triple", "* * 3"))
    assert passing(item, ("ask", "ASK { <x:> ?p ?o }"), ("ask", "ASK {}"))
    assert passing(item, ("source", "s"), ("event-type", "T"))
    assert not passing(item, ("source", "s"), ("event-type", "U"))
    assert passing(item)


@pytest.mark.parametrize(
    "item",
    [
        turtle(b"no turtle"),
        turtle(syntax="text/plain"),
        turtle(b"[" * 5000 + b"]" * 5000, syntax="application/ld+json"),
        turtle(b""),
    ],
)
def test_without_rdf_that_can_be_read_nothing_passes(item):
    """An ASK that is always true is not, either."""
    for given in (("vocabulary", "http"), ("triple", "* * *"), ("ask", "ASK {}")):
        assert not passing(item, given)


@pytest.mark.parametrize(
    ("syntax", "body"),
    [
        ("application/n-triples", b"<http://e/s> <http://e/p> <http://e/o> ."),
        ("text/n3", b"<http://e/s> <http://e/p> <http://e/o> ."),
        ("text/turtle; charset=utf-8", b"<http://e/s> <http://e/p> <http://e/o> ."),
        ("application/ld+json", b'{"@id": "http://e/s", "http://e/p": {"@id": "http://e/o"}}'),
        ("application/n-quads", b"<http://e/s> <http://e/p> <http://e/o> <http://e/g> ."),
    ],
)
def test_rdf_of_any_syntax_is_read(syntax, body):
    """Named graphs are looked at like the default one."""
    item = turtle(body, syntax=syntax)

    assert passing(item, ("triple", "<http://e/s> <http://e/p> <http://e/o>"), ("vocabulary", "http://e/"))
    assert passing(item, ("ask", "ASK { <http://e/s> ?p ?o }"))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("sources", "s", "there are source, application"),
        ("triple", "a b", "not a triple's pattern"),
        ("triple", "* * * } SELECT * {", "not a triple's pattern"),
        ("ask", "ASK {", "not SPARQL"),
        ("ask", "SELECT * {}", "must be an ASK"),
    ],
)
def test_what_is_no_filter_is_refused(name, value, why):
    """At once, not at the first item."""
    with pytest.raises(ValueError, match=why):
        filters_of([(name, value)])


def test_a_filter_may_have_a_memory():
    """Any function is one."""
    known = set()

    def first(item):
        new = item.source_id not in known
        known.add(item.source_id)
        return new

    passes = any_of(lambda _: False, first)
    assert [passes(turtle(source=source)) for source in "aab"] == [True, False, True]


def test_a_body_is_read_once_for_all_filters():
    """Of an item; another one that is equal is another one."""
    item = turtle()
    assert quads_of(item) is quads_of(item)
    assert len(quads_of(turtle(b""))) == 0
    assert len(quads_of(item)) == 4


def test_filters_may_be_asked_on_any_thread():
    """What is remembered belongs to the thread."""
    item, results = turtle(), []
    passes = with_triple("* * 3")
    threads = [threading.Thread(target=lambda: results.append(passes(item))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4

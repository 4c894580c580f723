"""Whatever stands in a mapping's file, it is a plan or a MappingError: never another error, and never half a plan."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, parse, serialize
from support.rml_case import cases

from triplewire.clients.historic.form_table import Table
from triplewire.clients.historic.mapping_problems import MappingError, Problems
from triplewire.clients.historic.mappings import read_mapping
from triplewire.clients.historic.plan import Mapping

EXAMPLE = Path(__file__).parents[3] / "conf" / "historic" / "seattle-temps.toml"
FORM = tomllib.loads(EXAMPLE.read_text(encoding="utf-8")) | {
    "procedure": {"column": "p", "names": {"a": "ex:a"}},
    "graph": {"template": "g/{g}"},
}
ANY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.just([{}]),
)
QUIET = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MAPPINGS = sorted({case.files["mapping.ttl"] for case in cases() if not case.is_error})
TERMS = st.sampled_from(
    [
        BlankNode("other"),
        Literal("x"),
        Literal("{x"),
        Literal("$..x"),
        Literal("5", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer")),
        NamedNode("http://w3id.org/rml/Literal"),
        NamedNode("http://w3id.org/rml/defaultGraph"),
        NamedNode("http://example.com/base/TriplesMap1"),
    ]
)
WORDS = st.sampled_from(
    [
        f"http://w3id.org/rml/{name}"
        for name in ("reference", "template", "constant", "language", "datatype", "source", "graph")
    ]
    + [
        f"http://w3id.org/rml/{name}"
        for name in ("subject", "object", "joinCondition", "parentTriplesMap", "iterator", "path")
    ]
    + [
        "http://www.w3.org/ns/csvw#dialect",
        "http://www.w3.org/ns/r2rml#tableName",
        "http://www.w3.org/ns/r2rml#clas",
    ]
).map(NamedNode)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Each place in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inner for found in places(one, (*path, key)))]


def read(path: Path) -> Mapping | str:
    """The plan, or what is wrong."""
    try:
        return read_mapping(path)
    except MappingError as error:
        return str(error)


def put(document: Any, path: tuple[str | int, ...], value: Any) -> None:
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value


@QUIET
@given(st.sampled_from(places(FORM)[1:]), ANY, st.text("abc", max_size=3))
def test_any_value_anywhere_in_a_form(monkeypatch, path, value, more):
    """Of whatever kind it is; a key that is none as well."""
    document = copy.deepcopy(FORM)
    put(document, path, value)
    if more and path[:-1]:
        put(document, (*path[:-1], more) if isinstance(path[-1], str) else path, value)
    monkeypatch.setattr("triplewire.clients.historic.observation_form._document", lambda _: document)
    found = read(EXAMPLE)
    assert isinstance(found, Mapping) or str(EXAMPLE) in found


@QUIET
@given(st.data())
def test_any_triple_changed_in_a_mapping_of_rml(tmp_path, data):
    """Taken out, with another word, or with another object."""
    document = data.draw(st.sampled_from(MAPPINGS))
    triples = [
        Triple(quad.subject, quad.predicate, quad.object)
        for quad in parse(document, format=RdfFormat.TURTLE, base_iri="http://example.com/base/")
    ]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(triples) - 1))
        triple = triples[place]
        triples[place] = data.draw(
            st.one_of(
                st.sampled_from(triples),
                TERMS.map(lambda term, triple=triple: Triple(triple.subject, triple.predicate, term)),
                WORDS.map(lambda word, triple=triple: Triple(triple.subject, word, triple.object)),
            )
        )
    path = tmp_path / "mapping.ttl"
    path.write_bytes(serialize(triples, format=RdfFormat.TURTLE))
    found = read(path)
    if isinstance(found, str):
        assert str(path) in found
        return
    names = {source.name for source in found.sources}
    assert all(rule.source in names for rule in found.rules)
    assert all(rule.join is None or rule.join.parent in names for rule in found.rules)


@QUIET
@given(st.dictionaries(st.text(max_size=3), ANY, max_size=4), st.text(max_size=3))
def test_any_table_can_be_asked_for_anything(values, name):
    """What is asked for is of the kind that was asked for."""
    table = Table(values, "", Problems("f.toml"))
    assert isinstance(table.text(name), str)
    assert isinstance(table.flag(name, default=True), bool)
    assert all(isinstance(text, str) for text in table.texts(name))
    assert all(isinstance(inner, Table) for inner in [table.table(name), *table.tables(name)])
    table.end()

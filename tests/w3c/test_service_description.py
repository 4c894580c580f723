"""The three tests of SPARQL 1.1 Service Description, at each path where there are queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import NamedNode, RdfFormat, Store

from w3c.endpoints import expect

pytestmark = pytest.mark.xdist_group("w3c")

at_each_endpoint = pytest.mark.parametrize("endpoint", ["query_path", "both_path"])

SD = "http://www.w3.org/ns/sparql-service-description#"
PREFIXES = f"""
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX sd: <{SD}>
"""
SCHEMA = NamedNode("urn:schema")

# The description is the default graph.  Types may be left to the domains and ranges; a wrong one may not be given.
VIOLATIONS = {
    "a term that the vocabulary has not": """SELECT DISTINCT ?term {
        ?s ?p ?o BIND(IF(STRSTARTS(STR(?p), STR(sd:)), ?p, ?o) AS ?term)
        FILTER(isIRI(?term) && STRSTARTS(STR(?term), STR(sd:)))
        FILTER NOT EXISTS { GRAPH <urn:schema> { ?term ?any ?thing } } }""",
    "a subject of another class": """SELECT ?s ?p {
        ?s ?p ?o . GRAPH <urn:schema> { ?p rdfs:domain ?class }
        FILTER EXISTS { ?s a ?given FILTER(STRSTARTS(STR(?given), STR(sd:))) }
        FILTER NOT EXISTS { ?s a ?given . GRAPH <urn:schema> { ?given rdfs:subClassOf* ?class } } }""",
    "an object of another class": """SELECT ?p ?o {
        ?s ?p ?o . GRAPH <urn:schema> { ?p rdfs:range ?class }
        { ?o a ?given FILTER(STRSTARTS(STR(?given), STR(sd:))) } UNION { GRAPH <urn:schema> { ?o a ?given } }
        FILTER NOT EXISTS { GRAPH <urn:schema> { ?given rdfs:subClassOf* ?class } } }""",
    "a literal for a resource": """SELECT ?p ?o {
        ?s ?p ?o FILTER(isLiteral(?o) && STRSTARTS(STR(?p), STR(sd:))) }""",
    "an endpoint, a graph's name or a format that is not an IRI": """SELECT ?p ?o {
        VALUES ?p { sd:endpoint sd:name sd:resultFormat sd:inputFormat } ?s ?p ?o FILTER(!isIRI(?o)) }""",
    "two services of one endpoint": """SELECT ?s ?t {
        GRAPH <urn:schema> { ?p a owl:InverseFunctionalProperty } ?s ?p ?o . ?t ?p ?o FILTER(?s != ?t) }""",
    "a service without an endpoint": """SELECT ?s {
        ?s a sd:Service FILTER NOT EXISTS { ?s sd:endpoint ?o } }""",
}

# One description for each of them that has it.
VIOLATORS = [
    "[] a sd:Servant",
    "[] a sd:Graph ; sd:feature sd:EmptyGraphs",
    "[] sd:feature sd:SPARQL11Query",
    '[] sd:supportedLanguage "SPARQL"',
    "[] sd:endpoint []",
    "[] sd:endpoint <urn:here> . [] sd:endpoint <urn:here>",
    "[] a sd:Service",
]


def beside_the_schema(document: bytes, format_: RdfFormat, base: str) -> Store:
    """A description, with the vocabulary in a graph of its own."""
    store = Store()
    store.load(document, format=format_, base_iri=base)
    path = Path(__file__).with_name("service-description.ttl")
    store.load(path=path, format=RdfFormat.TURTLE, to_graph=SCHEMA)
    return store


def described(gate, endpoint: str, accept: str = "text/turtle") -> Store:
    """The description that a GET without a query gets."""
    reply = expect(gate.send("GET", getattr(gate, endpoint), headers=[("Accept", accept)]))
    format_ = RdfFormat.from_media_type(reply.media_type)
    assert format_ is not None, reply.content_type
    return beside_the_schema(reply.body, format_, gate.url + getattr(gate, endpoint))


@at_each_endpoint
@pytest.mark.parametrize(
    "accept", ["*/*", "text/turtle", "application/rdf+xml", "application/n-triples", "application/ld+json"]
)
def test_returns_rdf(gate, endpoint, accept):
    """GET on the endpoint gives RDF, in the format that is asked for."""
    description = described(gate, endpoint, accept)

    assert list(description.quads_for_pattern(None, None, None))


@at_each_endpoint
def test_has_endpoint_triple(gate, endpoint):
    """The description is of a service whose endpoint is the place that it was got from."""
    url = gate.url + getattr(gate, endpoint)

    assert described(gate, endpoint).query(f"{PREFIXES} ASK {{ ?s a sd:Service ; sd:endpoint <{url}> }}")


@at_each_endpoint
@pytest.mark.parametrize("violation", VIOLATIONS)
def test_conforms_to_schema(gate, endpoint, violation):
    """The description says what the vocabulary lets it say, and leaves out nothing that it must say."""
    found = described(gate, endpoint).query(PREFIXES + VIOLATIONS[violation])

    assert [str(row) for row in found] == []


@pytest.mark.parametrize(("violation", "description"), list(zip(VIOLATIONS, VIOLATORS, strict=True)))
def test_each_violation_is_found(violation, description):
    """The checks of the schema can fail."""
    document = f"@prefix sd: <{SD}> . {description} ."
    store = beside_the_schema(document.encode(), RdfFormat.TURTLE, "urn:here")

    assert list(store.query(PREFIXES + VIOLATIONS[violation]))

"""Every test of the SPARQL 1.1 Graph Store Protocol: those in the HTTP vocabulary, and the older ones in prose."""

from __future__ import annotations

import pytest

from w3c.exchanges import TURTLE, Dialogue, Exchange, dialogues
from w3c.manifests import Data, manifests

pytestmark = pytest.mark.xdist_group("w3c")

PROSE = "sparql11/http-rdf-update/manifest.ttl"


@pytest.mark.parametrize(
    "dialogue", dialogues("sparql11/graph-store-protocol/manifest-*.ttl"), ids=lambda found: found.name
)
def test_graphs_are_put_got_posted_and_deleted(gate, dialogue):
    """Each request of the suite gets the status, location and graph that it must get."""
    dialogue.play(gate, lambda exchange: gate.store_path + exchange.target.removeprefix("/gsp"), {})


# The tests in prose are one story: each begins where an earlier one ended.  Here each begins from an empty store and
# tells what has to come before.  Their statuses are those that the later suite allows; two slips of the prose (a
# missing full stop, and John Doe, who was overwritten by Jane Doe) are put right as there.

PREFIXES = """@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix v: <http://www.w3.org/2006/vcard/ns#> .
"""
JOHN = f'{PREFIXES} <$STORE$/person/1> a foaf:Person ; foaf:businessCard [ a v:VCard ; v:fn "John Doe" ] .'
JANE = f'{PREFIXES} <$STORE$/person/1> a foaf:Person ; foaf:businessCard [ a v:VCard ; v:fn "Jane Doe" ] .'
ALICE = f'{PREFIXES} [] a foaf:Person ; foaf:businessCard [ a v:VCard ; v:given-name "Alice" ] .'
NAME = f'{PREFIXES} <$STORE$/person/1> foaf:name "Jane Doe" .'
PARTS = "".join(
    f"--a6fe4cd636164618814be9f8d3d1a0de\r\n"
    f'Content-Disposition: form-data; name="{property_}.ttl"; filename="{property_}.ttl"\r\n'
    f"Content-Type: text/turtle; charset=utf-8\r\n\r\n"
    f'{PREFIXES} <$STORE$/person/1> foaf:{property_} "{value}" .\r\n\r\n'
    for property_, value in (("familyName", "Doe"), ("givenName", "Jane"))
)
FORM = f"{PARTS}--a6fe4cd636164618814be9f8d3d1a0de--\r\n"
FULL_JANE = f'{JANE} <$STORE$/person/1> foaf:givenName "Jane" ; foaf:familyName "Doe" .'

IS_TURTLE = (("Content-Type", "text/turtle; charset=utf-8"),)
IS_FORM = (("Content-Type", "multipart/form-data; boundary=a6fe4cd636164618814be9f8d3d1a0de"),)
DONE, DONE_OR_CREATED = (200, 204), (200, 201, 204)


def put(target: str, body: str, statuses: tuple[int, ...]) -> Exchange:
    """PUT of a graph."""
    return Exchange("PUT", target, statuses, IS_TURTLE, body)


def post(
    target: str, body: str, statuses: tuple[int, ...] = DONE, *, location: str | None = None
) -> Exchange:
    """POST to a graph, or to the store."""
    return Exchange("POST", target, statuses, IS_TURTLE, body, location=location)


def get(target: str, graph: str) -> Exchange:
    """GET that must give this graph."""
    return Exchange("GET", target, (200,), (("Accept", TURTLE),), media_type=TURTLE, graph=graph)


def plain(method: str, target: str, *statuses: int, media_type: str | None = None) -> Exchange:
    """A request without a body."""
    return Exchange(method, target, statuses, media_type=media_type)


ONE, TWO, FOUR = "/person/1.ttl", "/person/2.ttl", "/person/4.ttl"
PUT_JOHN, PUT_JANE = put(ONE, JOHN, (201,)), put(ONE, JANE, DONE_OR_CREATED)
NEW = post("", ALICE, (201,), location="$NEWPATH$")
STORY: dict[str, tuple[Exchange, ...]] = {
    "put__initial_state": (PUT_JOHN,),
    "get_of_put__initial_state": (PUT_JOHN, get("?graph=$STORE$/person/1.ttl", JOHN)),
    "put__graph_already_in_store": (PUT_JOHN, put(ONE, JANE, DONE)),
    "get_of_put__graph_already_in_store": (PUT_JOHN, PUT_JANE, get(ONE, JANE)),
    "put__default_graph": (put("?default", ALICE, DONE_OR_CREATED),),
    "get_of_put__default_graph": (put("?default", ALICE, DONE_OR_CREATED), get("?default", ALICE)),
    "delete__existing_graph": (put(TWO, ALICE, (201,)), plain("DELETE", TWO, *DONE)),
    "get_of_delete__existing_graph": (
        put(TWO, ALICE, (201,)),
        plain("DELETE", TWO, *DONE),
        plain("GET", TWO, 404),
    ),
    "delete__nonexistent_graph": (plain("DELETE", TWO, 404),),
    "post__existing_graph": (PUT_JANE, post(ONE, NAME)),
    "get_of_post__existing_graph": (PUT_JANE, post(ONE, NAME), get(ONE, JANE + NAME)),
    "post__multipart_formdata": (PUT_JANE, Exchange("POST", ONE, DONE, IS_FORM, FORM)),
    "get_of_post__multipart_formdata": (
        PUT_JANE,
        post(ONE, NAME),
        Exchange("POST", ONE, DONE, IS_FORM, FORM),
        get(ONE, FULL_JANE + NAME),
    ),
    "post__create__new_graph": (NEW,),
    "get_of_post__create__new_graph": (NEW, get("$NEWPATH$", ALICE)),
    "get_of_post__after_noop": (NEW, post("$NEWPATH$", ""), get("$NEWPATH$", ALICE)),
    "head_on_an_existing_graph": (PUT_JANE, plain("HEAD", ONE, 200, media_type=TURTLE)),
    "head_on_a_nonexisting_graph": (plain("HEAD", FOUR, 404),),
}


@pytest.mark.parametrize("name", STORY)
def test_the_tests_in_prose_hold(gate, name):
    """What the deprecated suite describes in words is so, each test by itself."""

    def target(exchange: Exchange) -> str:
        return exchange.target if exchange.target.startswith("$NEW") else gate.store_path + exchange.target

    dialogue = Dialogue(name, Data(), STORY[name])
    dialogue.play(gate, target, {"$STORE$": gate.url + gate.store_path})


def test_every_test_in_prose_is_here(shared):
    """The table has the tests of the manifest, no more and no fewer."""
    (manifest,) = manifests(PROSE)

    assert {test.value.rpartition("#")[2] for test in manifest.tests()} == set(STORY)

"""RDF documents of a request's body, in each format, alone and several in a multipart form."""

from __future__ import annotations

from contextlib import suppress

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat

from triplewire.broker.errors import MalformedRequest, RequestError, UnsupportedMediaType
from triplewire.broker.wire.documents import Document, documents_of, to_ntriples
from triplewire.broker.wire.media import GRAPHS

BASE = "http://base/"
NESTING = 100
TRIPLE = '<http://base/a> <http://x/p> "é\\n"@de .\n'
RDF_XML = (
    '<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">'
    '<rdf:Description rdf:about="a"><x:p xml:lang="de">é\n</x:p></rdf:Description></rdf:RDF>'
)
SAME = {
    "text/turtle": '@prefix x: <http://x/> . <a> x:p """é\n"""@de .',
    "application/n-triples": TRIPLE,
    "application/rdf+xml": RDF_XML,
    "application/ld+json": '{"@id":"a","http://x/p":{"@value":"é\\n","@language":"de"}}',
    "text/n3": '<a> <http://x/p> "é\\n"@de .',
    "application/trig": '{ <a> <http://x/p> "é\\n"@de }',
    "application/n-quads": TRIPLE,
}
NAMED = {
    "application/trig": "<http://x/g> { <a> <b> 1 }",
    "application/n-quads": "<http://x/a> <http://x/b> <http://x/c> <http://x/g> .",
    "application/ld+json": '{"@id":"http://x/g","@graph":[{"@id":"a","http://x/p":1}]}',
}


def ntriples(body, content_type):
    """What becomes of a body."""
    return to_ntriples(documents_of(body, content_type), BASE, NESTING)


def multipart(*parts, boundary="cut"):
    """A form of `(content type, data)` parts, and its own type."""
    body = b"".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="graph"; filename="f"\r\n{kind}\r\n'.encode()
        + data
        + b"\r\n"
        for kind, data in ((f"Content-Type: {kind}\r\n" if kind else "", data) for kind, data in parts)
    )
    return body + f"--{boundary}--\r\n".encode(), f'multipart/form-data; boundary="{boundary}"'


def test_the_samples_are_all_there():
    """One for each format that is read."""
    assert set(SAME) == {format_.media_type for format_ in GRAPHS}


@pytest.mark.parametrize("media_type", SAME)
def test_each_format_is_read(media_type):
    """Relative IRIs against the base, texts in UTF-8."""
    assert ntriples(SAME[media_type].encode(), media_type) == TRIPLE
    assert ntriples(SAME[media_type].encode(), f"{media_type.upper()}; charset=utf-8") == TRIPLE


@pytest.mark.parametrize("media_type", SAME)
def test_an_empty_document(media_type):
    """No triples where the format allows it, else an error; never anything else."""
    with suppress(RequestError):
        assert ntriples(b"", media_type) == ""


def test_a_form_holds_documents_of_several_formats():
    """Each part is read by its own media type, byte for byte."""
    body, kind = multipart(*((media_type, text.encode()) for media_type, text in SAME.items()))
    assert [document.data.decode() for document in documents_of(body, kind)] == list(SAME.values())
    assert set(ntriples(body, kind).splitlines(keepends=True)) == {TRIPLE}


@given(st.binary())
def test_a_part_is_taken_byte_for_byte(data):
    """Whatever its bytes are: control characters, line ends of all kinds, no UTF-8."""
    body, kind = multipart(("text/turtle", data), boundary="3f1c9a77")
    assert documents_of(body, kind) == [Document(data, RdfFormat.TURTLE)]


def test_blank_nodes_of_two_documents_stay_different():
    """The same label in two parts is two nodes; in one part it is one."""
    one = b"_:x <http://x/p> 1 . _:x <http://x/q> 2 ."
    body, kind = multipart(("text/turtle", one), ("text/turtle", one))
    found = list(pyoxigraph.parse(ntriples(body, kind), format=RdfFormat.N_TRIPLES))
    assert len(found) == 4
    assert len({triple.subject for triple in found}) == 2
    again = list(pyoxigraph.parse(ntriples(one, "text/turtle"), format=RdfFormat.N_TRIPLES))
    assert not {triple.subject for triple in again} & {triple.subject for triple in found}


@pytest.mark.parametrize("media_type", NAMED)
def test_named_graphs_are_refused(media_type):
    """A request writes one graph, which its URL names."""
    with pytest.raises(MalformedRequest, match="named graphs"):
        ntriples(NAMED[media_type].encode(), media_type)


@pytest.mark.parametrize(
    ("media_type", "text", "place"),
    [
        ("text/turtle", "<a> <b> 1 .\n<a> <b> § .", "line 2, column 9"),
        ("application/n-triples", TRIPLE + "<a>", "line 2"),
        ("application/n-quads", "x", "line 1, column 1"),
        ("application/trig", "{ <a> <b> 1 ", "line 1"),
        ("text/n3", "{ <a>", "line 1"),
        ("application/ld+json", '{\n"@id": 1}', "is not JSON-LD"),
        ("application/ld+json", '{"@id": "a",\n}', "line 2"),
        ("application/rdf+xml", "<a>\n<b></a>", "line 2, column 5"),
        ("application/rdf+xml", "<a/>", "is not RDF/XML"),
        ("text/turtle", "<a> <b> ex:c .", "line 1, column 9"),
    ],
)
def test_bad_bytes_are_told_with_their_place(media_type, text, place):
    """Where the reader tells one."""
    with pytest.raises(RequestError, match="the body is not") as caught:
        ntriples(text.encode(), media_type)
    assert place in caught.value.description
    assert caught.value.status == 400


@pytest.mark.parametrize("media_type", SAME)
def test_what_is_not_utf_8_is_refused(media_type):
    """In each format."""
    with pytest.raises(RequestError):
        ntriples(SAME[media_type].encode("latin-1"), media_type)


def test_a_remote_context_is_not_fetched():
    """The broker goes nowhere on a sender's behalf."""
    with pytest.raises(RequestError, match="context"):
        ntriples(b'{"@context":"http://127.0.0.1:9/c","name":"x"}', "application/ld+json")


@settings(max_examples=200)
@given(st.sampled_from(list(SAME)), st.binary() | st.text('<>:"{}[]()@_.\\ab1 \n^&;').map(str.encode))
def test_any_bytes_are_triples_or_a_request_error(media_type, data):
    """In any format; what comes out is N-Triples."""
    with suppress(RequestError):
        text = ntriples(data, media_type)
        list(pyoxigraph.parse(text, format=RdfFormat.N_TRIPLES))


# --- forms that are none ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "body", "error"),
    [
        ("multipart/form-data", b"--cut\r\n\r\n\r\n--cut--", MalformedRequest),
        ("multipart/form-data; boundary=", b"", MalformedRequest),
        ("multipart/form-data; boundary=other", b"--cut\r\n\r\n\r\n--cut--", MalformedRequest),
        ("multipart/form-data; boundary=cut", b"--cut\r\n\r\n<a> <b> 1 .\r\n--cut--", UnsupportedMediaType),
        (
            "multipart/form-data; boundary=cut",
            b"--cut\r\nContent-Type: text/csv\r\n\r\n\r\n--cut--",
            UnsupportedMediaType,
        ),
        (
            "multipart/form-data; boundary=cut",
            b"--cut\r\nContent-Type: multipart/mixed; boundary=in\r\n\r\n--in\r\n\r\nx\r\n--in--\r\n--cut--",
            UnsupportedMediaType,
        ),
        ("multipart/mixed; boundary=cut", b"", UnsupportedMediaType),
    ],
)
def test_forms_that_can_not_be_taken_apart_are_refused(content_type, body, error):
    """No boundary, no parts, or a part that is no document."""
    with pytest.raises(error):
        documents_of(body, content_type)


def test_a_form_may_lack_its_last_boundary():
    """What has come is read; the length of the body is the gate's affair."""
    body, kind = multipart(("text/turtle", b"<a> <b> 1 ."))
    assert documents_of(body.replace(b"--cut--\r\n", b""), kind)


@settings(max_examples=200)
@given(
    st.binary(),
    st.text(st.characters(exclude_categories=["Cs"], max_codepoint=255), max_size=20),
    st.text(st.characters(exclude_categories=["Cs"], max_codepoint=255), max_size=20),
)
def test_any_form_is_documents_or_a_request_error(data, boundary, kind):
    """Whatever the headers and the body are."""
    with suppress(RequestError):
        documents_of(data, f"multipart/form-data; boundary={boundary}")
    body, content_type = multipart((kind, data))
    with suppress(RequestError):
        documents_of(body, content_type)


def test_terms_survive():
    """A blank node, a datatype and a triple term come through as they are."""
    text = ntriples(b"_:b <http://x/p> <<( <http://x/s> <http://x/p> 1 )>> .", "text/turtle")
    (triple,) = pyoxigraph.parse(text, format=RdfFormat.N_TRIPLES)
    assert isinstance(triple.subject, BlankNode)
    assert triple.object.subject == NamedNode("http://x/s")
    assert triple.object.object == Literal(1)

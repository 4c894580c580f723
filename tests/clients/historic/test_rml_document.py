from __future__ import annotations

import pytest

from triplewire.clients.historic.mapping_problems import MappingError, Problem
from triplewire.clients.historic.rml_document import Document

RML = "@prefix rml: <http://w3id.org/rml/> . @prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix ex: <http://example.com/> .\n"


def document(directory, text: str) -> Document:
    path = directory / "a.ttl"
    path.write_text(RML + text, encoding="utf-8")
    return Document(path, "http://localhost/")


def test_no_turtle_is_told_with_its_place(tmp_path):
    """The file, the line, and what the reader says."""
    with pytest.raises(MappingError, match=r"a\.ttl: no Turtle: .*line 2"):
        document(tmp_path, "<#A> rml:subject .")


def test_a_missing_file_is_told(tmp_path):
    """With its path."""
    with pytest.raises(MappingError, match=r"b\.ttl: can't be read: No such file"):
        Document(tmp_path / "b.ttl", "http://localhost/")


def test_triples_maps_are_what_has_their_words(tmp_path):
    """And what says that it is one; sources alone are none."""
    found = document(
        tmp_path,
        "<#A> rml:subjectMap [] . <#B> rr:predicateObjectMap [] . <#S> rml:source 'x' . ex:C a rr:TriplesMap .",
    )
    assert [str(node) for node in found.triples_maps()] == ["<#A>", "<#B>", "<http://example.com/C>"]


def test_comments_of_other_vocabularies_are_let_be(tmp_path):
    """Labels and types say nothing to RML; a misspelt word of its own is an error."""
    (node,) = document(tmp_path, "<#A> a rml:TriplesMap ; ex:note 'x' ; rml:subjectMap [] .").triples_maps()
    node.check()
    (node,) = document(tmp_path, "<#A> rml:subjectMap [] ; rml:predicateObjectMaps [] .").triples_maps()
    with pytest.raises(
        Problem, match="predicateObjectMaps means nothing here; did you mean predicateObjectMap"
    ):
        node.check()


def test_what_may_stand_once_is_refused_twice(tmp_path):
    """Also where two namespaces say it."""
    (node,) = document(tmp_path, "<#A> rml:subjectMap <#b> ; rr:subjectMap <#c> .").triples_maps()
    with pytest.raises(Problem, match="subjectMap stands 2 times"):
        node.node("subjectMap", "subject map")
    assert len(node.nodes("subjectMap", "subject map")) == 2


def test_a_text_is_no_resource_and_a_resource_no_text(tmp_path):
    """Each is said in its place."""
    (node,) = document(tmp_path, "<#A> rml:subjectMap 'x' ; rml:baseIRI [] .").triples_maps()
    with pytest.raises(Problem, match="subjectMap is a text"):
        node.nodes("subjectMap", "subject map")
    with pytest.raises(Problem, match="baseIRI must be a text"):
        node.text("baseIRI")
    assert node.text("subject") is None

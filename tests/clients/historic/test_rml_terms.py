from __future__ import annotations

import pytest
from support.mapping_files import CSV, JSON, rml

from triplewire.clients.historic.mapping_problems import MappingError
from triplewire.clients.historic.plan import (
    Constant,
    Encoding,
    Moment,
    Number,
    Reference,
    Template,
    TermMap,
    TermType,
)

XSD = "http://www.w3.org/2001/XMLSchema#"


def object_of(directory, text: str, source: str = CSV) -> TermMap:
    mapping = rml(
        directory,
        f"<#A> {source} ; rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; {text} ] .",
    )
    (rule,) = mapping.rules
    return rule.object


def subject_of(directory, text: str) -> TermMap:
    text = f"<#A> {CSV} ; rml:subjectMap [ {text} ] ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:object 'x' ] ."
    (rule,) = rml(directory, text).rules
    return rule.subject


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rml:reference 'v'", TermMap(Reference("v"), TermType.LITERAL)),
        ("rr:column 'v'", TermMap(Reference("v"), TermType.LITERAL)),
        ("rml:template 'x{v}'", TermMap(Template(("x", Reference("v"))), TermType.IRI)),
        (
            "rml:template 'x{v}' ; rml:termType rml:Literal",
            TermMap(Template(("x", Reference("v"))), TermType.LITERAL),
        ),
        (
            "rml:template 'x{v}' ; rml:language 'de'",
            TermMap(Template(("x", Reference("v"))), TermType.LITERAL, language=Constant("de")),
        ),
        ("rml:reference 'v' ; rml:termType rml:IRI", TermMap(Reference("v"), TermType.IRI)),
        ("rml:reference 'v' ; rr:termType rr:BlankNode", TermMap(Reference("v"), TermType.BLANK)),
        (
            "rml:template '{v}' ; rml:termType rml:URI",
            TermMap(Template((Reference("v"),)), TermType.IRI, encoding=Encoding.URI),
        ),
        ("rml:constant ex:o", TermMap(Constant("http://example.com/o"), TermType.IRI)),
        ("rml:constant 'o'", TermMap(Constant("o"), TermType.LITERAL)),
        ("rml:constant 'o'@de", TermMap(Constant("o"), TermType.LITERAL, language=Constant("de"))),
        ("rml:constant 5", TermMap(Constant("5"), TermType.LITERAL, datatype=XSD + "integer")),
        (
            "rml:reference 'v' ; rml:datatype xsd:double",
            TermMap(Reference("v"), TermType.LITERAL, datatype=XSD + "double", reading=Number()),
        ),
        (
            "rml:reference 'v' ; rml:datatype xsd:dateTime",
            TermMap(Reference("v"), TermType.LITERAL, datatype=XSD + "dateTime", reading=Moment(zone="")),
        ),
        (
            "rml:reference 'v' ; rml:datatype xsd:date",
            TermMap(Reference("v"), TermType.LITERAL, datatype=XSD + "date"),
        ),
        (
            "rml:reference 'v' ; rml:languageMap [ rml:reference 'l' ]",
            TermMap(Reference("v"), TermType.LITERAL, language=Reference("l")),
        ),
        (
            "rml:reference 'v' ; rml:datatypeMap [ rml:template '{d}' ]",
            TermMap(Reference("v"), TermType.LITERAL, datatype=Template((Reference("d"),))),
        ),
    ],
)
def test_an_object_by_what_is_said_and_the_defaults(tmp_path, text, expected):
    """R2RML 7.4: columns and what has a datatype or language are literals, templates IRIs."""
    assert object_of(tmp_path, f"rml:objectMap [ {text} ]") == expected


def test_shortcuts_are_constants(tmp_path):
    """rml:object says what rml:objectMap [ rml:constant ] says."""
    assert object_of(tmp_path, "rml:object 'o'@en") == object_of(
        tmp_path, "rml:objectMap [ rml:constant 'o'@en ]"
    )


def test_subjects_are_iris_by_default(tmp_path):
    """Also where they are a column."""
    assert subject_of(tmp_path, "rml:reference 'v'") == TermMap(Reference("v"), TermType.IRI)


def test_references_into_json_have_steps(tmp_path):
    """In columns' names a dot is a dot."""
    assert object_of(tmp_path, "rml:objectMap [ rml:reference '$.a.b' ]", JSON).expression == Reference(
        "$.a.b", ("a", "b")
    )
    assert object_of(tmp_path, "rml:objectMap [ rml:reference 'a.b' ]").expression == Reference("a.b")


def test_a_base_of_its_own(tmp_path):
    """rml:baseIRI is for what one triples map makes."""
    mapping = rml(
        tmp_path,
        f"<#A> {CSV} ; rml:baseIRI ex:base/ ; rml:subjectMap [ rml:reference 'v' ; rml:class ex:C ] .".replace(
            "ex:base/", "<http://example.com/base/>"
        ),
    )
    assert mapping.rules[0].subject.base == "http://example.com/base/"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rml:reference 'v' ; rml:template '{v}'", "reference and template exclude each other"),
        ("rml:reference 'v' , 'w'", "reference and reference exclude each other"),
        ("rml:language 'de'", "there must be a reference, a template or a constant"),
        ("rml:termType rml:BlankNode", "so that loading twice changes nothing"),
        ("rml:reference 'v' ; rml:termType ex:Iri", "is no term type"),
        ("rml:reference 'v' ; rml:language 'english'", "'english' is no language tag"),
        (
            "rml:reference 'v' ; rml:language 'de' ; rml:datatype xsd:string",
            "may be one datatype or one language",
        ),
        (
            "rml:reference 'v' ; rml:termType rml:IRI ; rml:language 'de'",
            "makes an IRI, which has no datatype",
        ),
        ("rml:reference 'v' ; rml:datatype 'x'", "datatype map: .* is a literal"),
        (
            "rml:reference 'v' ; rml:datatype <http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>",
            "needs a language",
        ),
        ("rml:constant [] ", "can't be a blank node"),
        ("rml:constant 'x' ; rml:termType rml:IRI", "the term type is another"),
        ("rml:template '{v'", "is no template"),
    ],
)
def test_what_is_wrong_with_an_object_is_said(tmp_path, text, problem):
    """What and where, before any row is read."""
    with pytest.raises(MappingError, match=problem):
        object_of(tmp_path, f"rml:objectMap [ {text} ]")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rml:reference 'v' ; rml:termType rml:Literal", "subject map: it can't be a literal"),
        ("rml:constant 'x'", "can't stand there"),
        ("rml:constant ex:s ; rml:termType rml:BlankNode", "the term type is another"),
        ("rml:template '{v}' ; rml:datatype xsd:string", "datatype means nothing here"),
    ],
)
def test_what_is_wrong_with_a_subject_is_said(tmp_path, text, problem):
    """A subject is an IRI or a blank node."""
    with pytest.raises(MappingError, match=problem):
        subject_of(tmp_path, text)

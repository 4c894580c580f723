from __future__ import annotations

import pytest
from support.mapping_files import CSV, JSON, rml
from support.plain_mapping import plain_mapping, plain_mapping_of

from triplewire.clients.historic.mapping_problems import MappingError
from triplewire.clients.historic.plan import Constant, Join, Reference, Template, TermMap, TermType
from triplewire.clients.historic.reasons import Reason

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def test_a_rule_for_each_shape_of_quad(tmp_path):
    """Two predicates, two objects and two graphs are eight; a class is one in each graph of the subject."""
    mapping = rml(
        tmp_path,
        f"""
        <#A> {CSV} ;
            rml:subjectMap [ rml:template "http://example.com/{{id}}" ; rml:class ex:A ; rml:graph ex:g ] ;
            rml:predicateObjectMap [
                rml:predicate ex:p , ex:q ; rml:object "x" ; rml:objectMap [ rml:reference "v" ] ; rml:graph rml:defaultGraph
            ] .
        """,
    )
    assert len(mapping.rules) == 9
    lines, broken = plain_mapping([{"id": "1", "v": "y"}], mapping)
    expected = {f"<http://example.com/1> {TYPE} <http://example.com/A> <http://example.com/g> ."}
    for predicate in "pq":
        for text in "xy":
            for graph in ("", " <http://example.com/g>"):
                expected.add(f'<http://example.com/1> <http://example.com/{predicate}> "{text}"{graph} .')
    assert (lines, broken) == (expected, [])


def test_the_three_namespaces_mean_the_same(tmp_path):
    """RML, the older RML with R2RML's words, and a mixture give one plan."""
    texts = [
        '<#A> rml:logicalSource [ rml:source "a.csv" ; rml:referenceFormulation rml:CSV ] ; rml:subject ex:s ; '
        'rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:reference "v" ] ] .',
        '<#A> old:logicalSource [ old:source "a.csv" ; old:referenceFormulation ql:CSV ] ; rr:subject ex:s ; '
        'rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ old:reference "v" ] ] .',
        '<#A> old:logicalSource [ rml:source "a.csv" ; old:referenceFormulation rml:CSV ] ; '
        "rr:subjectMap [ rr:constant ex:s ] ; "
        'rml:predicateObjectMap [ rr:predicateMap [ rml:constant ex:p ] ; rr:objectMap [ rml:reference "v" ] ] .',
    ]
    first, *others = [rml(tmp_path, text) for text in texts]
    assert len(first.rules) == 1
    assert all(other == first for other in others)


def test_a_table_of_r2rml_is_a_file_beside_it(tmp_path):
    """Names in SQL's quotes are meant without them."""
    mapping = rml(
        tmp_path,
        r"""
        <#A> rr:logicalTable [ rr:tableName "\"Students\"" ] ;
            rr:subjectMap [ rr:template "http://example.com/{\"ID\"}" ] ;
            rr:predicateObjectMap [ rr:predicate ex:name ; rr:objectMap [ rr:column "\"Name\"" ] ] .
        """,
    )
    (source,) = mapping.sources
    assert (source.name, source.path, source.format) == ("Students", str(tmp_path / "Students.csv"), "csv")
    (rule,) = mapping.rules
    assert rule.subject.expression == Template(("http://example.com/", Reference("ID")))
    assert rule.object.expression == Reference("Name")


def test_a_parent_with_a_condition_is_a_join(tmp_path):
    """Its subjects are the objects, of the rows that agree."""
    mapping = rml(
        tmp_path,
        f"""
        <#A> {CSV} ; rml:subjectMap [ rml:template "http://example.com/a/{{id}}" ] ;
            rml:predicateObjectMap [ rml:predicate ex:in ; rml:objectMap [ rml:parentTriplesMap <#B> ;
                rml:joinCondition [ rml:child "town" ; rml:parent "name" ] ] ] .
        <#B> rml:logicalSource [ rml:source "b.csv" ; rml:referenceFormulation rml:CSV ] ;
            rml:subjectMap [ rml:template "http://example.com/b/{{id}}" ] .
        """,
    )
    (rule,) = mapping.rules
    assert rule.join == Join("b.csv", ((Reference("town"), Reference("name")),))
    rows = {
        "a.csv": [{"id": "1", "town": "x"}, {"id": "2", "town": None}, {"id": "3", "town": "y"}],
        "b.csv": [{"id": "7", "name": "x"}, {"id": "8", "name": "x"}, {"id": "9", "name": None}],
    }
    lines, broken = plain_mapping_of(rows, mapping)
    joined = "<http://example.com/a/1> <http://example.com/in> <http://example.com/b/%d> ."
    assert (lines, broken) == ({joined % 7, joined % 8}, [])


def test_a_parent_without_a_condition_is_the_same_row(tmp_path):
    """R2RML 8: where the sources are the same, no rows have to be brought together."""
    mapping = rml(
        tmp_path,
        f"""
        <#A> {CSV} ; rml:subjectMap [ rml:template "http://example.com/a/{{id}}" ] ;
            rml:predicateObjectMap [ rml:predicate ex:in ; rml:objectMap [ rml:parentTriplesMap <#B> ] ] .
        <#B> {CSV} ; rml:subjectMap [ rml:template "http://example.com/b/{{id}}" ] .
        """,
    )
    (rule,) = mapping.rules
    assert rule.join is None
    assert rule.object == TermMap(Template(("http://example.com/b/", Reference("id"))), TermType.IRI)


def test_numbers_of_json_keep_their_types(tmp_path):
    """RML's natural mapping; a path with [*] gives an object for each element."""
    mapping = rml(
        tmp_path,
        f"""
        <#A> {JSON} ; rml:subject ex:s ;
            rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:reference "$.v[*]" ] ] .
        """,
    )
    lines, _ = plain_mapping([{"v": [1, 2.5, True, "x", None]}], mapping)
    xsd = "http://www.w3.org/2001/XMLSchema#"
    start = "<http://example.com/s> <http://example.com/p>"
    objects = (f'"1"^^<{xsd}integer>', f'"2.5E0"^^<{xsd}double>', f'"true"^^<{xsd}boolean>', '"x"')
    assert lines == {f"{start} {object_} ." for object_ in objects}


def test_typed_columns_are_read(tmp_path):
    """A number that is none, and a day that never was, break their rows; a time without a zone stays without one."""
    mapping = rml(
        tmp_path,
        f"""
        <#A> {CSV} ; rml:subject ex:s ; rml:predicateObjectMap
            [ rml:predicate ex:v ; rml:objectMap [ rml:reference "v" ; rml:datatype xsd:decimal ] ] ,
            [ rml:predicate ex:t ; rml:objectMap [ rml:reference "t" ; rml:datatype xsd:dateTime ] ] .
        """,
    )
    rows = [
        {"v": "020.50", "t": "2026-11-28T09:30:00"},
        {"v": "n/a", "t": "2026-11-28T09:30:00Z"},
        {"v": "1", "t": "2026-02-30"},
    ]
    lines, broken = plain_mapping(rows, mapping)
    assert broken == [(1, Reason.BAD_NUMBER), (2, Reason.IMPOSSIBLE_TIME)]
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert lines == {
        f'<http://example.com/s> <http://example.com/v> "20.5"^^<{xsd}decimal> .',
        f'<http://example.com/s> <http://example.com/t> "2026-11-28T09:30:00"^^<{xsd}dateTime> .',
    }


def test_all_problems_are_told_at_once(tmp_path):
    """Each with its triples map; one does not hide another."""
    with pytest.raises(MappingError) as raised:
        rml(
            tmp_path,
            f"""
            <#A> {CSV} ; rml:subject ex:s ; rml:predicateObjectMap
                [ rml:predicate ex:p ; rml:objectMap [ rml:refrence "v" ] ] ,
                [ rml:object "x" ] .
            <#B> {CSV} ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:object "x" ] .
            """,
        )
    text = str(raised.value)
    assert text.startswith(f"{tmp_path / 'mapping.ttl'}: 3 problems\n")
    assert "<#A>: object map: refrence means nothing here; did you mean reference" in text
    assert "<#A>: predicate-object map: there is no predicate" in text
    assert "<#B>: there must be one subjectMap or subject, and there are 0" in text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ex:a ex:b ex:c .", "there is no triples map"),
        ("<#A> rml:subject ex:s .", "there must be one logicalSource, and there are 0"),
        (f'<#A> {CSV} ; rml:subject "s" .', "subject map: .* is a literal, and can't stand there"),
        (f"<#A> {CSV} ; rml:subject ex:s , ex:t .", "and there are 2"),
        (f"<#A> {CSV} ; rml:subjectMap [ rml:constant ex:s ; rml:class 'x' ] .", "the class .* is no IRI"),
        (
            f"<#A> {CSV} ; rml:subject ex:s ; rml:predicateObjectMap 'x' .",
            "is a text, and must be a resource",
        ),
        (f"<#A> {CSV} ; rml:baseIRI 'x y' ; rml:subject ex:s .", "the baseIRI 'x y' is no IRI"),
        (
            f"<#A> {CSV} ; rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; "
            "rml:objectMap [ rml:parentTriplesMap <#B> ] ] .",
            "no triples map of this document",
        ),
        (
            f"<#A> {CSV} ; rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; "
            "rml:objectMap [ rml:parentTriplesMap <#B> ] ] . <#B> rml:logicalSource [ rml:source 'b.csv' ; "
            "rml:referenceFormulation rml:CSV ] ; rml:subject ex:t .",
            "must have the same source",
        ),
        (
            f"<#A> {CSV} ; rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; "
            "rml:objectMap [ rml:reference 'a' ; rml:joinCondition [ rml:child 'a' ; rml:parent 'b' ] ] ] .",
            "joinCondition needs a parentTriplesMap",
        ),
        (
            f"<#A> {CSV} ; rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; "
            "rml:objectMap [ rml:functionExecution ex:f ] ] .",
            "functionExecution is not supported: functions can't be called",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, problem):
    """What and where, before any row is read."""
    with pytest.raises(MappingError, match=problem):
        rml(tmp_path, text)


def test_a_constant_graph_is_one(tmp_path):
    """The default graph by its name is none."""
    mapping = rml(
        tmp_path,
        f"""
        <#A> {CSV} ; rml:subject ex:s ;
            rml:predicateObjectMap [ rml:predicate ex:p ; rml:object "x" ; rml:graphMap [ rml:constant ex:g ] ] ,
            [ rml:predicate ex:p ; rml:object "x" ; rr:graph rr:defaultGraph ] .
        """,
    )
    assert {rule.graph for rule in mapping.rules} == {
        None,
        TermMap(Constant("http://example.com/g"), TermType.IRI),
    }


def test_relative_iris_are_below_the_base_wherever_the_file_lies(tmp_path):
    """So that the same mapping gives the same IRIs on another machine."""
    mapping = rml(tmp_path, f"<#A> {CSV} ; rml:subjectMap [ rml:template 's/{{id}}' ; rml:class <Thing> ] .")
    lines, _ = plain_mapping([{"id": "1"}], mapping)
    assert lines == {f"<http://localhost/s/1> {TYPE} <http://localhost/Thing> ."}

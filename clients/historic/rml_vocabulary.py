"""The words of RML and R2RML: namespaces with the same names, read as one.

`http://w3id.org/rml/` is the community group's; `http://semweb.mmlab.be/ns/rml#` with R2RML's and others came before it.  What a node may say is
listed here, so that a misspelt word is an error and not a triple that nobody looks at; words of other namespaces are comments.
"""

from __future__ import annotations

CSVW = "http://www.w3.org/ns/csvw#"
_SAME = (
    "http://w3id.org/rml/",
    "http://semweb.mmlab.be/ns/rml#",
    "http://www.w3.org/ns/r2rml#",
    "http://semweb.mmlab.be/ns/ql#",
    "http://semweb.mmlab.be/ns/fnml#",
    "http://semweb.mmlab.be/ns/rml-target#",
)

_EXPRESSION = frozenset({"reference", "column", "template", "constant"})
_TERM = _EXPRESSION | {"termType"}
_OBJECT = _TERM | {"datatype", "datatypeMap", "language", "languageMap", "inverseExpression"}
_REFERRING = frozenset({"parentTriplesMap", "joinCondition"})

PROPERTIES: dict[str, frozenset[str]] = {
    "triples map": frozenset(
        {
            "logicalSource",
            "logicalTable",
            "subjectMap",
            "subject",
            "predicateObjectMap",
            "baseIRI",
        }
    ),
    "logical source": frozenset(
        {"source", "referenceFormulation", "iterator", "tableName", "sqlQuery", "query", "sqlVersion"}
    ),
    "source": frozenset(
        {"path", "root", "null", "encoding", "compression", "csvw:url", "csvw:dialect", "csvw:null"}
    ),
    "dialect": frozenset({"csvw:delimiter", "csvw:quoteChar", "csvw:encoding", "csvw:header"}),
    "subject map": _TERM | {"class", "graph", "graphMap", "inverseExpression"},
    "predicate-object map": frozenset(
        {"predicate", "predicateMap", "object", "objectMap", "graph", "graphMap"}
    ),
    "predicate map": _TERM,
    "graph map": _TERM,
    "object map": _OBJECT | _REFERRING,
    "language map": _TERM,
    "datatype map": _TERM,
    "join condition": frozenset({"child", "parent", "childMap", "parentMap"}),
    "join map": _EXPRESSION,
}

UNSUPPORTED: dict[str, str] = {
    "functionValue": "functions can't be called",
    "functionExecution": "functions can't be called",
    "gather": "containers and collections can't be made",
    "gatherAs": "containers and collections can't be made",
    "logicalTarget": "quads all go to one destination, not to targets",
    "query": "queries of databases can't be asked: export the rows to a file",
    "sqlQuery": "queries of databases can't be asked: export the rows to a file",
    "subjectMapping": "RDF-star terms can't be made",
    "quotedTriplesMap": "RDF-star terms can't be made",
    "viewOn": "logical views can't be read",
}

IGNORED = frozenset({"inverseExpression", "sqlVersion"})
"""Hints for databases (R2RML 7.7)."""


def word(iri: str) -> str | None:
    """The local name of a word of RML or R2RML, `csvw:name` of one of CSVW, None of all else."""
    for namespace in _SAME:
        if iri.startswith(namespace):
            return iri.removeprefix(namespace)
    if iri.startswith(CSVW):
        return f"csvw:{iri.removeprefix(CSVW)}"
    return None

"""A value as one SPARQL term, whatever the value is: no value can become anything else than a term.

Literals are written between quotes with every quote, backslash and control character escaped, and with their datatype
as a full IRI.  IRIs are written between angle brackets, and those with characters that IRIs can't have are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from pyoxigraph import BlankNode, Literal, NamedNode, Store, Triple

from triplewire.broker.errors import ProfileError
from triplewire.broker.tokens import tokens

from .lexical import RDF, XSD, lexical

TYPES = ("literal", "typed-literal", "uri", "bnode")


class _Undef(Enum):
    """The type of `UNDEF`, so that type checkers know it."""

    UNDEF = "UNDEF"


UNDEF: Final = _Undef.UNDEF
"""No value: in a VALUES block it is UNDEF, elsewhere the variable stays a variable."""


@dataclass(frozen=True, slots=True)
class ForcedBinding:
    """What a profile says of a variable that callers bind; `value` is the default, None where they have to give one.

    The type is `literal`, `uri` or `bnode`.  An empty `uri` or `bnode` is no default: it means required.
    """

    type: str = "literal"
    value: object = None
    datatype: str | None = None
    language: str | None = None

    @property
    def is_required(self) -> bool:
        """Whether there is no default."""
        return self.value is None or (self.value == "" and self.type in {"uri", "bnode"})


def term(value: object, declared: ForcedBinding, namespaces: Mapping[str, str], path: str = "") -> str:
    """`value` as SPARQL writes it: one term, or UNDEF.

    A string is what `declared` says it is.  Other Python values, pyoxigraph's terms and the bindings of SPARQL's JSON
    results (`{"type": ..., "value": ...}`) bring their own type.

    Raises:
        ProfileError: there is no such term; it starts with `path`.
    """
    try:
        return _term(value, declared, namespaces)
    except (ValueError, OverflowError) as error:
        raise ProfileError(path, str(error)) from error


def iri(written: str, namespaces: Mapping[str, str]) -> str:
    """The IRI, without brackets, that `written` means: `<iri>`, a prefixed name, or an IRI as it is, relative ones too.

    Raises:
        ValueError: it is not an IRI.
    """
    if written.startswith("<") and written.endswith(">") and len(written) > 1:
        return checked(written[1:-1])
    prefix, colon, local = written.partition(":")
    # Nobody's prefixed name goes on with two slashes, so http://... stays an IRI where a prefix is called http.
    if colon and prefix in namespaces and not local.startswith("//"):
        return checked(namespaces[prefix] + _PN_LOCAL_ESC.sub(r"\1", local))
    return checked(written)


def _term(value: object, declared: ForcedBinding, namespaces: Mapping[str, str]) -> str:
    match value:
        case _Undef():
            return "UNDEF"
        case NamedNode():
            return f"<{checked(value.value)}>"
        case BlankNode():
            return _blank(value.value)
        case Literal():
            return _of_literal(value)
        case Mapping():
            return _of_mapping(value, declared, namespaces)
        case str():
            return _of_string(value, declared, namespaces)
        case None | Triple() | list() | tuple():
            raise ValueError(f"a {type(value).__name__} is no value for a variable")
    return _of_value(value, declared, namespaces)


def _of_string(value: str, declared: ForcedBinding, namespaces: Mapping[str, str]) -> str:
    match declared.type:
        case "literal" | "typed-literal":
            return _literal(value, _datatype(declared, namespaces), declared.language)
        case "uri" if value == "UNDEF":  # as SEPA's Python client has it in profiles
            return "UNDEF"
        case "uri" if value:
            return f"<{iri(value, namespaces)}>"
        case "uri":
            raise ValueError("expected an IRI, not an empty string")
        case "bnode":
            return _blank(value)
    raise ValueError(f"{declared.type!r} is not a type; there are {', '.join(TYPES)}")


def _of_value(value: object, declared: ForcedBinding, namespaces: Mapping[str, str]) -> str:
    """A number, boolean, date ... with the declared datatype, or else the natural one."""
    if declared.type not in {"literal", "typed-literal"}:
        raise ValueError(f"expected a string for the type {declared.type}, not {value!r}")
    text, datatype = lexical(value, _datatype(declared, namespaces))
    return _literal(text, datatype, declared.language)


def _of_literal(value: Literal) -> str:
    language = value.language
    if language is not None and value.direction is not None:
        language = f"{language}--{value.direction}"
    return _written(value.value, None if language else value.datatype.value, language)


def _of_mapping(given: Mapping[Any, Any], declared: ForcedBinding, namespaces: Mapping[str, str]) -> str:
    value = given.get("value")
    if value is None or isinstance(value, Mapping):
        raise ValueError('expected a member "value" with a string, number or boolean')
    return _term(value, _overlaid(declared, given), namespaces)


def _overlaid(declared: ForcedBinding, given: Mapping[Any, Any]) -> ForcedBinding:
    """The declaration under what the caller says; a datatype or language of the caller's replaces both."""
    kind = given.get("type") or declared.type
    datatype, language = given.get("datatype"), given.get("language") or given.get("xml:lang")
    for name, member in (("type", kind), ("datatype", datatype), ("language", language)):
        if member is not None and not isinstance(member, str):
            raise ValueError(f"expected a string as {name}, not {member!r}")
    if kind != declared.type or datatype or language:
        return ForcedBinding(kind, None, datatype, language)
    return replace(declared, type=kind)


def _datatype(declared: ForcedBinding, namespaces: Mapping[str, str]) -> str | None:
    return iri(declared.datatype, namespaces) if declared.datatype else None


def _literal(text: str, datatype: str | None, language: str | None) -> str:
    if language:
        if datatype not in {None, RDF + "langString"}:
            raise ValueError("a literal has a datatype or a language, not both")
        return _written(text, None, Literal("", language=language).language)
    if datatype == RDF + "langString":
        raise ValueError("rdf:langString needs a language")
    return _written(text, datatype, None)


def _written(text: str, datatype: str | None, language: str | None) -> str:
    text.encode()  # a lone surrogate raises UnicodeEncodeError, a ValueError
    quoted = '"' + _TO_ESCAPE.sub(_escape, text) + '"'
    if language:
        return f"{quoted}@{language}"
    return quoted if datatype in {None, XSD + "string"} else f"{quoted}^^<{datatype}>"


def _blank(label: str) -> str:
    node = label if label.startswith("_:") else f"_:{label}"
    if [(found.kind, found.text) for found in tokens(node)] != [("bnode", node)]:
        raise ValueError(f"{label!r} is not the label of a blank node")
    if max(node) > "\uffff":  # SPARQL has them, Oxigraph's parser not yet
        raise ValueError(f"{label!r} has a character that Oxigraph takes in no label")
    return node


@lru_cache(maxsize=1024)
def checked(reference: str) -> str:
    """The IRI reference, absolute or relative, if Oxigraph takes it between angle brackets as it stands.

    Raises:
        ValueError: it does not.
    """
    bad = _NOT_IN_IRIS.search(reference)
    if bad:
        raise ValueError(f"{reference!r} is not an IRI: it has {bad.group()!r}; write it percent-encoded")
    reference.encode()
    try:
        # The query asks nothing: the reference may be relative, and only the parser resolves those.
        _EMPTY.query(f"ASK {{ FILTER(<{reference}> = 1) }}", base_iri=_ANY_BASE)
    except SyntaxError as error:
        raise ValueError(f"{reference!r} is not an IRI") from error
    return reference


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04X}"


_EMPTY = Store()
_ANY_BASE = "http://localhost/"
_NOT_IN_IRIS = re.compile(r'[<>"{}|^`\\\x00-\x20]')
_PN_LOCAL_ESC = re.compile(r"\\([_~.\-!$&'()*+,;=/?#@%])")
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\x9f]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}

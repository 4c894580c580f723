"""Terms that are the same for each row: made once, in Python, by the rules of the expressions in `terms.py`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from .blank_nodes import genid
from .lexical import IRI, LANGUAGE_TAG, SCHEME
from .numbers_read import XSD
from .plan import Constant, TermType
from .terms import escaped_text

if TYPE_CHECKING:
    from .plan import TermMap

_IRI = re.compile(IRI)
_TAG = re.compile(LANGUAGE_TAG)
_SCHEME = re.compile(SCHEME)
_ASCII = re.compile(r"[\x00-\x7f]+")


def constant_term(term: TermMap, base_iri: str) -> str | None:
    """The term of a constant; None where it would break each row."""
    assert isinstance(term.expression, Constant)
    text = term.expression.value
    if term.type is TermType.BLANK:
        label = _ASCII.sub(lambda found: quote(found[0], safe="-._~"), text)
        return f"<{genid(base_iri)}{label}>"
    base = term.base or base_iri
    if term.type is TermType.IRI:
        iri = absolute(text, base)
        return f"<{iri}>" if is_iri(iri) else None
    literal = f'"{escaped_text(text)}"'
    if isinstance(term.language, Constant):
        tag = term.language.value
        return f"{literal}@{tag}" if _TAG.fullmatch(tag) else None
    datatype = absolute(term.datatype, base) if isinstance(term.datatype, str) else f"{XSD}string"
    if not is_iri(datatype):
        return None
    return literal if datatype == f"{XSD}string" else f"{literal}^^<{datatype}>"


def absolute(text: str, base: str) -> str:
    """What is no absolute IRI goes behind the base, as it is (R2RML 7.3)."""
    return text if _SCHEME.match(text) else base + text


def is_iri(text: str) -> bool:
    """Whether it is an absolute IRI (RFC 3987 2.2)."""
    return _IRI.fullmatch(text) is not None

"""Reading terms of N-Triples in Spark columns: numbers, moments, and terms that users gave."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_NUMBER: Final = r'^"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"(?:\^\^<[^>]*>)?$'
# XSD 1.1 dateTime without what Spark has no moments for: years of more than four digits, or before the first.
_MOMENT: Final = (
    r'^"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)"'
    rf"\^\^<{_XSD}dateTime(?:Stamp)?>$"
)
_MICROSECONDS: Final = r"(\.[0-9]{6})[0-9]+"
_BAD_IN_IRI: Final = re.compile(r'[\x00-\x20<>"{}|^`\\]')


def number_of(term: Column) -> Column:
    """A literal as a double, whatever its datatype calls it; null for what is no finite decimal number."""
    text = F.regexp_extract(term, _NUMBER, 1)
    number = F.when(text != "", text).try_cast("double")
    return F.when(F.abs(number) < F.lit(float("inf")), number)


def moment_of(term: Column) -> Column:
    """An xsd:dateTime or xsd:dateTimeStamp to the microsecond; UTC where it has no zone, null for anything else."""
    text = F.regexp_replace(F.regexp_extract(term, _MOMENT, 1), _MICROSECONDS, "$1")
    return F.when(text != "", text).try_cast("timestamp")


def iri_term(iri: str) -> str:
    """An IRI as N-Triples writes it.

    Raises:
        ValueError: it has a character that no IRI has, or no scheme.
    """
    if _BAD_IN_IRI.search(iri) or ":" not in iri:
        raise ValueError(f"{iri!r} is not a whole IRI")
    return f"<{iri}>"

"""Texts as terms of N-Quads, in Spark's own expressions: escapes, percent-encoding, IRIs, language tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .iri_patterns import ABSOLUTE, BAD_BRACKETS, SHAPE, STRAY_PERCENT
from .lexical import IUNRESERVED, LANGUAGE_TAG, UNRESERVED
from .plan import Encoding

if TYPE_CHECKING:
    from pyspark.sql import Column

_ESCAPES: Final = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"))
_RARE_ESCAPES: Final = (("\t", "\\t"), ("\b", "\\b"), ("\f", "\\f"))
_CONTROLS: Final = tuple(chr(code) for code in (*range(0x08), 0x0B, *range(0x0E, 0x20), 0x7F, 0xFFFE, 0xFFFF))
_RARE: Final = r"[\x00-\x09\x0B\x0C\x0E-\x1F\x7F\uFFFE\uFFFF]"
_UCSCHAR: Final = IUNRESERVED.removeprefix(UNRESERVED)


def escaped(text: Column) -> Column:
    """The inside of a literal's quotes (RDF 1.2 N-Quads 3: canonical form).

    A replacement that finds nothing costs one look; only texts with other controls go the long way.
    """
    common = _replaced(text, _ESCAPES)
    rare = (*_RARE_ESCAPES, *((char, f"\\u{ord(char):04X}") for char in _CONTROLS))
    return F.when(~text.rlike(_RARE), common).otherwise(_replaced(common, rare))


def escaped_text(text: str) -> str:
    """The same for what is known beforehand."""
    table = dict((*_ESCAPES, *_RARE_ESCAPES)) | {char: f"\\u{ord(char):04X}" for char in _CONTROLS}
    return "".join(table.get(char, char) for char in text)


def encoded(text: Column, encoding: Encoding) -> Column:
    """A value as it goes into an IRI's template (R2RML 7.3).

    Most values need nothing, which one look tells.  ASCII goes by `url_encode`, which makes HTML's form encoding of it: its
    three differences are set right.  Where letters of other scripts stay, the text is cut into what stays and what does not.
    """
    if encoding is Encoding.NONE:
        return text
    if encoding is Encoding.URI:
        changed = _form_encoded(text)
    else:
        pieces = F.regexp_extract_all(text, F.lit(f"([{_UCSCHAR}]+|[^{_UCSCHAR}]+)"), F.lit(1))
        kept = F.transform(
            pieces,
            lambda piece: F.when(piece.rlike(f"^[{_UCSCHAR}]"), piece).otherwise(_form_encoded(piece)),
        )
        changed = F.when(text.rlike(r"^[\x00-\x7F]*\z"), _form_encoded(text)).otherwise(
            F.array_join(kept, "")
        )
    return F.when(text.rlike(rf"^[{UNRESERVED}]*\z"), text).otherwise(changed)


def resolved(text: Column, base: str) -> Column:
    """What is no absolute IRI goes behind the base, as it is (R2RML 7.3)."""
    return F.when(text.rlike(ABSOLUTE), text).otherwise(F.concat(F.lit(base), text))


def is_bad_iri(iri: Column) -> Column:
    """Whether it is no absolute IRI (RFC 3987 2.2)."""
    return ~iri.rlike(SHAPE) | iri.rlike(STRAY_PERCENT) | (iri.contains("[") & iri.rlike(BAD_BRACKETS))


def is_bad_language(tag: Column) -> Column:
    """Whether it is no language tag in shape (BCP 47)."""
    return ~tag.rlike(LANGUAGE_TAG.removesuffix("$") + r"\z")


def _form_encoded(text: Column) -> Column:
    return _replaced(F.url_encode(text), (("+", "%20"), ("*", "%2A"), ("%7E", "~")))


def _replaced(text: Column, pairs: tuple[tuple[str, str], ...]) -> Column:
    for found, put in pairs:
        text = F.replace(text, F.lit(found), F.lit(put))
    return text

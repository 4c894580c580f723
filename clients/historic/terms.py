"""Texts as terms of N-Quads, in Spark's own expressions: escapes, percent-encoding, IRIs, language tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .iri_patterns import ABSOLUTE, BAD_BRACKETS, SHAPE, STRAY_PERCENT
from .lexical import IUNRESERVED, LANGUAGE_TAG, UNRESERVED
from .plan import Encoding

if TYPE_CHECKING:
    from pyspark.sql import Column

_ESCAPES: Final = (
    ("\\", "\\\\"),
    ('"', '\\"'),
    *((char, f"\\{name}") for char, name in zip("\n\r\t\b\f", "nrtbf", strict=True)),
)
_CONTROLS: Final = tuple(chr(code) for code in (*range(0x08), 0x0B, *range(0x0E, 0x20), 0x7F, 0xFFFE, 0xFFFF))
# What JSON leaves as it is and N-Quads does not.
_BEYOND_JSON: Final = tuple((char, f"\\u{ord(char):04X}") for char in "\x7f\ufffe\uffff")
_ESCAPED: Final = r"[\x00-\x1F\"\\\\\x7F\uFFFE\uFFFF]"
_UCSCHAR: Final = IUNRESERVED.removeprefix(UNRESERVED)


def escaped(text: Column) -> Column:
    """The inside of a literal's quotes (RDF 1.2 N-Quads 3: canonical form).

    Most texts need none, which one look tells.  The rest are written as JSON, whose escapes are the same but for three
    characters: `{"t":"` and `"}` around them are cut off.
    """
    json = F.to_json(F.struct(text.alias("t")))
    inside = F.substring(json, F.lit(7), F.length(json) - 8)
    return F.when(text.rlike(_ESCAPED), _replaced(inside, _BEYOND_JSON)).otherwise(text)


def escaped_text(text: str) -> str:
    """The same for what is known beforehand."""
    table = dict(_ESCAPES) | {char: f"\\u{ord(char):04X}" for char in _CONTROLS}
    return "".join(table.get(char, char) for char in text)


def encoded(text: Column, encoding: Encoding) -> Column:
    """A value as it goes into an IRI's template (R2RML 7.3).

    Most values need nothing, which one look tells.  ASCII goes by `url_encode`, which makes HTML's form encoding of it: its
    three differences are set right.  Where letters of other scripts stay, the text is cut into what stays and what does not.
    """
    if encoding is Encoding.NONE:
        return text
    plain = text.rlike(rf"^[{UNRESERVED}]*\z")
    if encoding is Encoding.URI:
        return F.when(plain, text).otherwise(_form_encoded(text))
    pieces = F.regexp_extract_all(text, F.lit(f"([{_UCSCHAR}]+|[^{_UCSCHAR}]+)"), F.lit(1))
    kept = F.transform(
        pieces,
        lambda piece: F.when(piece.rlike(f"^[{_UCSCHAR}]"), piece).otherwise(_form_encoded(piece)),
    )
    ascii_ = text.rlike(r"^[\x00-\x7F]*\z")
    return F.when(plain, text).when(ascii_, _form_encoded(text)).otherwise(F.array_join(kept, ""))


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

"""SPARQL's terminals, so that texts can be read and changed without a grammar (SPARQL 1.1 Query, 19.8).

Oxigraph is the arbiter of syntax.  What this module is for: to know where strings, comments, IRIs and variables begin
and end, so that a guard can count brackets, a forced binding can replace a variable and nothing else, and a dataset
can be put into an update.  A character that begins no terminal is a token of kind "other"; Oxigraph will refuse it.

Code point escapes are left alone: Oxigraph honors them in strings and IRIs only, where they can't end the token.
Oxigraph wants no space between keywords (`SELECTDISTINCT`, `FILTERNOT EXISTS`, `LOADSILENT<..>`), so there are two
tokens here too: a guard that read one unknown word would let it pass.

The time is linear in the text's length, whatever the text: what could begin a long terminal and does not is taken whole.

Applications send the same text again and again with other constants in it.  A `Shape` is what such texts have in common;
it is found by one regular expression, at a tenth of what the terminals cost.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PN_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_PN_CHARS_U = f"{_PN_BASE}_"
_PN_CHARS = f"{_PN_CHARS_U}\\-0-9\u00b7\u0300-\u036f\u203f-\u2040"
_VARNAME = f"[{_PN_CHARS_U}0-9][{_PN_CHARS_U}0-9\u00b7\u0300-\u036f\u203f-\u2040]*"
_PLX = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_PN_PREFIX = f"[{_PN_BASE}](?:[{_PN_CHARS}.]*[{_PN_CHARS}])?"
_PN_LOCAL = f"(?:[{_PN_CHARS_U}0-9:]|{_PLX})(?:(?:[{_PN_CHARS}.:]|{_PLX})*(?:[{_PN_CHARS}:]|{_PLX}))?"
_NUMBER = r"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+"

_STRING = (
    r'"""(?:(?:"|"")?(?:[^"\\]|\\.))*"""'
    r"|'''(?:(?:'|'')?(?:[^'\\]|\\.))*'''"
    r'|"(?:[^"\\\r\n]|\\.)*"'
    r"|'(?:[^'\\\r\n]|\\.)*'"
)
_IRI = r'<[^<>"{}|^`\\\x00-\x20]*(?:\\[uU][^<>"{}|^`\\\x00-\x20]*)*>'

_TERMINALS = (
    ("space", r"[ \t\r\n]+"),
    ("comment", r"#[^\r\n]*"),
    ("string", _STRING),
    ("iri", _IRI),
    ("variable", f"[?$]{_VARNAME}"),
    ("bnode", f"_:[{_PN_CHARS_U}0-9](?:[{_PN_CHARS}.]*[{_PN_CHARS}])?"),
    ("pname", f"(?:{_PN_PREFIX})?:(?:{_PN_LOCAL})?"),
    ("lang", r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?"),
    ("number", _NUMBER),
    (
        "word",
        f"{_PN_PREFIX}|_[A-Za-z0-9_]*",
    ),  # all that could be a prefix: what it is made of is seen to below
    ("symbol", r"<<\(|\)>>|<<|>>|\{\||\|\}|\^\^|&&|\|\||!=|<=|>=|[{}()\[\].;,*/|^!=<>+\-?@&~]"),
    ("other", r"[\"'].*|."),  # a string that never ends takes all the rest, so that nobody scans it again
)
_WORDS = """
    A ABS ADD ADJUST ALL AS ASC ASK AVG BASE BIND BNODE BOUND BY CEIL CLEAR COALESCE CONCAT CONSTRUCT CONTAINS COPY
    COUNT CREATE DATA DATATYPE DAY DEFAULT DELETE DESC DESCRIBE DISTINCT DROP ENCODE_FOR_URI EXISTS FALSE FILTER FLOOR
    FROM GRAPH GROUP GROUP_CONCAT HASLANG HASLANGDIR HAVING HOURS IF IN INSERT INTO IRI ISBLANK ISIRI ISLITERAL
    ISNUMERIC ISTRIPLE ISURI LANG LANGDIR LANGMATCHES LATERAL LCASE LIMIT LOAD MAX MD5 MIN MINUS MINUTES MONTH MOVE
    NAMED NOT NOW OBJECT OFFSET OPTIONAL ORDER PREDICATE PREFIX RAND REDUCED REGEX REPLACE ROUND SAMETERM SAMPLE
    SECONDS SELECT SEPARATOR SERVICE SHA1 SHA256 SHA384 SHA512 SILENT STR STRAFTER STRBEFORE STRDT STRENDS STRLANG
    STRLANGDIR STRLEN STRSTARTS STRUUID SUBJECT SUBSTR SUM TIMEZONE TO TRIPLE TRUE TZ UCASE UNDEF UNION URI USING UUID
    VALUES VERSION WHERE WITH YEAR
"""
_KEYWORDS = frozenset(_WORDS.split())
# Parts of what could be a prefix and is none; keywords first, the longest before those that it begins with.
_PARTS = re.compile(
    f"(?P<word>(?ai:{'|'.join(sorted(_KEYWORDS, key=len, reverse=True))})|[A-Za-z_][A-Za-z0-9_]*)"
    f"|(?P<number>{_NUMBER})|(?P<symbol>[.-])|(?P<other>.)"
)
_SCANNER = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _TERMINALS), re.DOTALL)
# The names among what is between the constants of a shape: a group `pname`, and what could be taken for one.
NAMES = re.compile(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in _TERMINALS
        if kind in {"variable", "bnode", "lang", "pname"}
    )
)
_VARNAME_ONLY = re.compile(_VARNAME)

# Longer texts are rarely sent again, and what is remembered of texts must have an end.
_SHAPED_CHARS = 4096
_DECLARATIONS = re.compile(
    r"(?:[ \t\r\n]+|#[^\r\n]*"
    rf"|(?ai:PREFIX)[ \t\r\n]+[^:<>{{}}()\"'#\\ \t\r\n]*:[ \t\r\n]*{_IRI}|(?ai:BASE)[ \t\r\n]*{_IRI})*+"
)
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
# A set of characters in front lets Python skip what is between; what follows looks back at the one that was found.
# A number is taken out where nothing else can be meant: after a space, a comma or a bracket, and before the like.
_CONSTANT = re.compile(
    r"""(["'<#^+\-.0-9](?:"""
    r'''(?<=")(?:""(?:(?:"|"")?(?:[^"\\]|\\.))*"""|(?:[^"\\\r\n]|\\.)*")'''
    r"""|(?<=')(?:''(?:(?:'|'')?(?:[^'\\]|\\.))*\'''|(?:[^'\\\r\n]|\\.)*')"""
    r"""|(?<=["']).*"""  # never ends: nobody scans the rest again
    rf"|(?<=<){_IRI[1:]}"
    r"|(?<=\#)[^\r\n]*"
    rf"|(?<=\^)\^{_IRI}"
    r"|(?:(?<=[ \t\r\n,(][0-9])[0-9]*(?:\.[0-9]+)?|(?<=[ \t\r\n,(]\.)[0-9]+|(?<=[ \t\r\n,(][+-])(?:[0-9]*\.)?[0-9]+)"
    rf"{_EXPONENT}(?=[ \t\r\n,;)}}\]]|\.[ \t\r\n}}])))",
    re.DOTALL,
)
_KINDS = {"'": '"', **dict.fromkeys("0123456789.", "0"), **{first: first for first in '"<#+-'}}


class Token(NamedTuple):
    """One terminal: `text[start:end]` of the scanned text."""

    kind: str
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these keywords, which SPARQL reads in any case; `words` are in upper case."""
        return self.kind == "word" and self.text.upper() in words


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    """The terminals of `text` in order, from `start` on, without white space and comments."""
    for match in _SCANNER.finditer(text, start):
        kind = match.lastgroup
        if kind == "word" and (match.group().upper() not in _KEYWORDS or not match.group().isascii()):
            for part in _PARTS.finditer(text, match.start(), match.end()):
                yield _token(part)
        elif kind not in {"space", "comment"}:
            yield _token(match)


def _token(match: re.Match[str]) -> Token:
    assert match.lastgroup is not None
    return Token(match.lastgroup, match.group(), match.start(), match.end())


def is_variable_name(name: str) -> bool:
    """Whether `name` can follow the question mark of a variable (VARNAME)."""
    return _VARNAME_ONLY.fullmatch(name) is not None


def splice(text: str, changes: list[tuple[int, int, str]]) -> str:
    """`text` with each `(start, end, replacement)` carried out; they are in order and do not overlap."""
    parts: list[str] = []
    done = 0
    for start, end, replacement in changes:
        parts += (text[done:start], replacement)
        done = end
    parts.append(text[done:])
    return "".join(parts)


class Shape(NamedTuple):
    """A text without its constants: strings, numbers, IRIs and comments; those of its declarations stay in.

    `kinds` has one item for each constant: the character `"`, `<`, `0`, `+` or `-` (numbers, by their sign) or `#`; or
    the datatype with `^^` before it, which is no constant.
    """

    declarations: str
    between: str
    kinds: tuple[str, ...]

    def filled(self, constants: Iterable[str]) -> str:
        """The text with other constants, one for each of `kinds`."""
        between = iter(self.between.split("\0"))
        parts = [self.declarations, next(between)]
        for constant, part in zip(constants, between, strict=True):
            parts += (constant, part)
        return "".join(parts)


def shape(text: str) -> tuple[Shape, tuple[str, ...]] | None:
    """What a text has in common with those that differ from it in constants, and its constants.

    None where it is long, or where what is a constant can't be told without reading every terminal.  Constants are
    terminals of `tokens`, but for the sign of a number, and comments.
    """
    return _shape(text) if len(text) <= _SHAPED_CHARS else None


@lru_cache(maxsize=256)  # the guard and the planner ask for the same text
def _shape(text: str) -> tuple[Shape, tuple[str, ...]] | None:
    declared = _DECLARATIONS.match(text)
    assert declared is not None, "it matches nothing, too"
    parts = _CONSTANT.split(text[declared.end() :])
    constants = tuple(parts[1::2])
    between = "\0".join(parts[::2])
    # Where a terminal holds what could begin a constant, we may have lost our way: a name with an escape, or `<<`
    # before a name.
    if "\\" in between or "<\0" in between or between.count("\0") != len(constants):
        return None
    if constants and not parts[-1] and constants[-1][0] in "\"'":
        return None  # a string that never ends, and none that is SPARQL
    kinds = tuple([_KINDS.get(constant[0], constant) for constant in constants])
    return Shape(declared.group(), between, kinds), constants

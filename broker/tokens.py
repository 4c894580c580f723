"""SPARQL's terminals, so that texts can be read and changed without a grammar (SPARQL 1.1 Query, 19.8).

Oxigraph is the arbiter of syntax.  What this module is for: to know where strings, comments, IRIs and variables begin
and end, so that a guard can count brackets, a forced binding can replace a variable and nothing else, and a dataset
can be put into an update.  A character that begins no terminal is a token of kind "other"; Oxigraph will refuse it.

Code point escapes are left alone: Oxigraph honors them in strings and IRIs only, where they can't end the token.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

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

_TERMINALS = (
    ("space", r"[ \t\r\n]+"),
    ("comment", r"#[^\r\n]*"),
    (
        "string",
        r'"""(?:(?:"|"")?(?:[^"\\]|\\.))*"""'
        r"|'''(?:(?:'|'')?(?:[^'\\]|\\.))*'''"
        r'|"(?:[^"\\\r\n]|\\.)*"'
        r"|'(?:[^'\\\r\n]|\\.)*'",
    ),
    ("iri", r'<[^<>"{}|^`\\\x00-\x20]*(?:\\[uU][0-9A-Fa-f]+[^<>"{}|^`\\\x00-\x20]*)*>'),
    ("variable", f"[?$]{_VARNAME}"),
    ("bnode", f"_:[{_PN_CHARS_U}0-9](?:[{_PN_CHARS}.]*[{_PN_CHARS}])?"),
    ("pname", f"(?:{_PN_PREFIX})?:(?:{_PN_LOCAL})?"),
    ("lang", r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?"),
    ("number", r"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+"),
    ("word", r"[A-Za-z_][A-Za-z0-9_]*"),
    ("symbol", r"<<\(|\)>>|<<|>>|\{\||\|\}|\^\^|&&|\|\||!=|<=|>=|[{}()\[\].;,*/|^!=<>+\-?@&~]"),
    ("other", r"."),
)
_SCANNER = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _TERMINALS), re.DOTALL)
_VARNAME_ONLY = re.compile(_VARNAME)


class Token(NamedTuple):
    """One terminal: `text[start:end]` of the scanned text."""

    kind: str
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these keywords, which SPARQL reads in any case; `words` are in upper case."""
        return self.kind == "word" and self.text.upper() in words


def tokens(text: str) -> Iterator[Token]:
    """The terminals of `text` in order, without white space and comments."""
    for match in _SCANNER.finditer(text):
        kind = match.lastgroup
        if kind not in {"space", "comment"}:
            assert kind is not None
            yield Token(kind, match.group(), match.start(), match.end())


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

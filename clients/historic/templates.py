r"""Templates of mappings: `http://example.com/{ID}/{Name}`; `\{`, `\}` and `\\` are the characters (R2RML 7.3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .mapping_problems import Problem
from .plan import Constant, Reference, Template

if TYPE_CHECKING:
    from collections.abc import Callable

_PIECE = re.compile(r"\\(?P<escaped>[{}\\])|\{(?P<reference>(?:[^{}\\]|\\[{}\\])*)\}|(?P<text>[^{}\\]+)")
_ESCAPED = re.compile(r"\\([{}\\])")


def template(text: str, reference: Callable[[str], Reference]) -> Template | Constant:
    """The template's parts, texts that touch joined; a Constant where nothing is referred to.

    Raises:
        Problem: a brace without its other one, a backslash before anything else, a reference that `reference` refuses.
    """
    parts: list[str | Reference] = []
    position = 0
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:
            raise Problem(
                f"{text!r} is no template, from {text[position:]!r} on: write \\{{, \\}} and \\\\ for {{, }} and \\"
            )
        _append(parts, piece, text, reference)
        position = piece.end()
    if all(isinstance(part, str) for part in parts):
        return Constant("".join(str(part) for part in parts))
    return Template(tuple(parts))


def _append(
    parts: list[str | Reference], piece: re.Match[str], text: str, reference: Callable[[str], Reference]
) -> None:
    if piece["reference"] is not None:
        name = _ESCAPED.sub(r"\1", piece["reference"])
        if not name.strip():
            raise Problem(f"{text!r} is no template: {{}} names no column")
        parts.append(reference(name))
        return
    literal = piece["escaped"] if piece["escaped"] is not None else piece["text"]
    if parts and isinstance(parts[-1], str):
        parts[-1] += literal
    else:
        parts.append(literal)

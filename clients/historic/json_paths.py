"""JSONPath as mappings use it (RFC 9535): a way down from the row, without filters, slices or `..`.

`$.a.b`, `a.b` and `$['a']["b"]` are (`a`, `b`); `[0]` an element, `[*]` and `.*` all of them (None).  What does not begin
with `$` is a name, or names with dots between them, and may have spaces: `Country Code`.
"""

from __future__ import annotations

import re

from .mapping_problems import Problem

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"*\s$][^.\[\]'"*]*)"""
    r"""|\[\s*'(?P<single>(?:[^'\\]|\\.)*)'\s*\]|\[\s*"(?P<double>(?:[^"\\]|\\.)*)"\s*\]"""
    r"""|\[\s*(?P<index>0|[1-9][0-9]{0,8})\s*\]|(?P<all>\.\*|\[\s*\*\s*\])""",
    re.VERBOSE,
)

Path = tuple[str | int | None, ...]


def json_path(text: str) -> Path:
    """The steps of a path; none for `$`.

    Raises:
        Problem: it is no JSONPath, or one that can do more than name a place.
    """
    rest = text.strip()
    rest = rest[1:] if rest.startswith("$") else rest if rest.startswith("[") else f".{rest}"
    steps: list[str | int | None] = []
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise Problem(f"{text!r} is no JSONPath that can be read here, from {rest!r} on")
        steps.append(_of(step))
        rest = rest[step.end() :]
    return tuple(steps)


def _of(step: re.Match[str]) -> str | int | None:
    if step["all"] is not None:
        return None
    if step["index"] is not None:
        return int(step["index"])
    if step["name"] is not None:
        return step["name"].rstrip()
    return re.sub(r"\\(.)", r"\1", step["single"] if step["single"] is not None else step["double"])

"""IRIs as Java's regular expressions read them: without groups in loops, which overflow its stack on long texts."""

from __future__ import annotations

import re
from typing import Final

from .lexical import IUNRESERVED, SCHEME

_PRIVATE: Final = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_NAME: Final = rf"{IUNRESERVED}!$&'()*+,;=%"
_AUTHORITY: Final = rf"(?:[{_NAME}:]*+@)?(?:\[[0-9A-Fa-f:]++\]|[{_NAME}]*+)(?::[0-9]*+)?"
_PATH: Final = f"[{_NAME}:@/]*+"

SHAPE: Final = f"^{SCHEME}(?://{_AUTHORITY}(?:/{_PATH})?|(?!//){_PATH})(?:\\?[{_NAME}{_PRIVATE}:@/?]*+)?(?:#[{_NAME}:@/?]*+)?\\z"
"""An absolute IRI (RFC 3987 2.2), but for what follows its percent signs, and what is in its brackets."""

STRAY_PERCENT: Final = "%(?![0-9A-Fa-f]{2})"
"""A percent sign that encodes nothing."""

ABSOLUTE: Final = f"^{SCHEME}"

_GROUPS: Final = "[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4})"
BAD_BRACKETS: Final = rf"^{SCHEME}//[^/?#]*\[(?!(?:{_GROUPS}{{7}}|(?!(?:[^:\]]*:){{8}})(?:{_GROUPS}{{0,6}})?::(?:{_GROUPS}{{0,6}})?)\])"
"""An IPv6 address that is none (RFC 3986 3.2.2), with the exceptions of `lexical`."""

# All of what comes before the first value: then whatever is percent-encoded in it can't break it.
_SAFE_START: Final = re.compile(rf"{SCHEME}(?://[^/?#\[\]]*/|(?!/)|/(?!/)[^/])")


def is_safe_start(text: str) -> bool:
    """Whether an IRI that begins like this stays one, whatever percent-encoded text and what the template has follows."""
    return _SAFE_START.match(text) is not None and not text.endswith(":")

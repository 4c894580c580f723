"""What IRIs and language tags look like, as regular expressions that Python and Java (Spark's `rlike`) read alike.

Characters beyond ASCII stand in them as themselves, since the two spell escapes of them differently.
"""

from __future__ import annotations

_UCSCHAR = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane << 16 if plane < 0xE else 0xE1000)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 0xF)
)
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"

UNRESERVED = r"A-Za-z0-9._~\-"
"""RFC 3986 2.3, the inside of a character class."""

IUNRESERVED = UNRESERVED + _UCSCHAR
"""RFC 3987 2.2, likewise."""

SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*:"
"""What an absolute IRI begins with."""

_ESCAPED = "%[0-9A-Fa-f]{2}"
_SUB_DELIMITERS = "!$&'()*+,;="
_NAME = f"(?:[{IUNRESERVED}{_SUB_DELIMITERS}]|{_ESCAPED})*"
_GROUPS = "[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4})"
# The common spellings; those with an IPv4 address at their end, or with :: for a single group, are refused.
_IP_6 = rf"\[(?:{_GROUPS}{{7}}|(?!(?:[^:\]]*:){{8}})(?:{_GROUPS}*)?::(?:{_GROUPS}*)?)\]"
_AUTHORITY = f"(?:(?:[{IUNRESERVED}{_SUB_DELIMITERS}:]|{_ESCAPED})*@)?(?:{_IP_6}|{_NAME})(?::[0-9]*)?"
_PATH = f"(?:[{IUNRESERVED}{_SUB_DELIMITERS}:@/]|{_ESCAPED})*"
_QUERY = f"(?:[{IUNRESERVED}{_PRIVATE}{_SUB_DELIMITERS}:@/?]|{_ESCAPED})*"
_FRAGMENT = f"(?:[{IUNRESERVED}{_SUB_DELIMITERS}:@/?]|{_ESCAPED})*"

IRI = f"^{SCHEME}(?://{_AUTHORITY}(?:/{_PATH})?|(?!//){_PATH})(?:\\?{_QUERY})?(?:#{_FRAGMENT})?$"
"""An absolute IRI (RFC 3987 2.2), without line breaks behind it: use Python's `fullmatch`."""

LANGUAGE_TAG = r"^(?:[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*|[xXiI](?:-[A-Za-z0-9]{1,8})+)$"
"""BCP 47 (RFC 5646 2.1) in shape; languages of 4 to 8 letters are none that was ever registered (`english`)."""

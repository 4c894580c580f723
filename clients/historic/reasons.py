"""Why a row makes no quads: the words that the quarantine and the report use, and nothing else does."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """One word for each way in which a row can be broken; a row may have several."""

    BAD_NUMBER = "bad number"  # a text that is read as a number, and is none
    IMPOSSIBLE_TIME = "impossible time"  # a text that is read as a moment, and is none, or one that never was
    MISSING_VALUE = "missing value"  # a null in what is required
    BAD_IRI = "bad IRI"  # RFC 3987, after the base was put before it (R2RML 7.3)
    BAD_LANGUAGE_TAG = "bad language tag"  # BCP 47
    UNKNOWN_NAME = "unknown name"  # of a sensor, a property, a unit: the mapping's table does not have it
    NOT_A_VALUE = "not a value"  # the reference names an object or an array, of which no term can be made
    BAD_LINE = "bad line"  # unreadable as CSV or JSON
    BAD_ENCODING = "bad encoding"  # bytes that are none in the source's encoding
    TOO_MANY_COLUMNS = "too many columns"
    TOO_FEW_COLUMNS = "too few columns"

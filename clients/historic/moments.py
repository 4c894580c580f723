"""Texts as moments, written as xsd:dateTime in UTC, in Spark's own expressions.

The session's zone is UTC, so a text without an offset is cast to what its clock showed; the zone comes after that.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

if TYPE_CHECKING:
    from pyspark.sql import Column

    from .plan import Moment

_TIME: Final = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_OFFSET: Final = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3])(?::?[0-5][0-9])?|14(?::?00)?))"
_DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO: Final = rf"^{_DATE}(?:{_TIME}{_OFFSET}?)?\z"
_ZONED: Final = rf"^{_DATE}{_TIME}{_OFFSET}\z"
# Whether a pattern reads an offset or a zone, once its quoted texts are taken out.
_QUOTED: Final = re.compile(r"'[^']*'")
_ZONE_LETTERS: Final = frozenset("XxZzOV")
_UTC: Final = frozenset(("UTC", "Z", "GMT", "Etc/UTC"))
_SPACE: Final = " \t\r\n"


def moment(text: Column, reading: Moment) -> Column:
    """The text's moment; null where it is none, or never was."""
    text = F.btrim(text, F.lit(_SPACE))
    if not reading.formats:
        return _written(_iso(text, reading.zone), reading.zone, text.rlike(_ZONED))
    read = [_by_format(text, pattern, reading.zone) for pattern in reading.formats]
    return reduce(lambda first, other: F.coalesce(first, other), read)  # noqa: PLW0108 - Spark counts its parameters


def moment_of(value: Column, *, has_zone: bool, zone: str) -> Column:
    """A timestamp of the source's own: a moment, or what a clock without a zone showed."""
    if has_zone:
        return _written(value, "UTC", F.lit(True))
    return _written(_at(value.cast("timestamp"), zone), zone, F.lit(False))


def _iso(text: Column, zone: str) -> Column:
    # White space and other spellings that Spark's cast would take are no ISO 8601.
    # It wants seconds before an offset.
    whole = F.when(F.substring(text, 17, 1) == ":", text).otherwise(
        F.regexp_replace(text, "^(.{16})", "$1:00")
    )
    shown = F.when(text.rlike(_ISO), whole).try_cast("timestamp")
    if zone in _UTC or not zone:
        return shown
    return F.when(text.rlike(_ZONED), shown).otherwise(_at(shown, zone))


def _by_format(text: Column, pattern: str, zone: str) -> Column:
    if pattern == "epoch_s":
        # What is below a microsecond is cut off, as with every other form.
        seconds = F.when(text.rlike(r"^-?[0-9]{1,13}(?:\.[0-9]+)?\z"), text)
        whole = (seconds.try_cast("decimal(38,20)") * F.lit(1000000)).cast("bigint")
        return _written(F.timestamp_micros(whole), "UTC", F.lit(True))
    if pattern == "epoch_ms":
        millis = F.when(text.rlike(r"^-?[0-9]{1,15}\z"), text).try_cast("bigint")
        return _written(F.timestamp_millis(millis), "UTC", F.lit(True))
    shown = F.try_to_timestamp(text, F.lit(pattern))
    if _ZONE_LETTERS & set(_QUOTED.sub("", pattern)):
        return _written(shown, "UTC", F.lit(True))
    return _written(_at(shown, zone), zone, F.lit(False))


def _at(shown: Column, zone: str) -> Column:
    """The moment at which a clock of the zone showed this: of two the first; null where it never did."""
    if zone in _UTC or not zone:
        return shown
    moment = F.to_utc_timestamp(shown, zone)
    return F.when(F.from_utc_timestamp(moment, zone) == shown, moment)


def _written(moment: Column, zone: str, zoned: Column) -> Column:
    """XSD 1.1's canonical form; years 1 to 9999."""
    lasts = moment.between(
        F.lit("0001-01-01").cast("timestamp"), F.lit("9999-12-31 23:59:59.999999").cast("timestamp")
    )
    local = F.replace(moment.cast("string"), F.lit(" "), F.lit("T"))
    utc = F.concat(local, F.lit("Z"))
    return F.when(lasts, utc if zone else F.when(zoned, utc).otherwise(local))

"""Texts as moments, written as xsd:dateTime in UTC, in Spark's own expressions.

The session's zone is UTC, so a text without an offset is cast to what its clock showed; the zone comes after that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

if TYPE_CHECKING:
    from pyspark.sql import Column

    from .cells import Keep
    from .plan import Moment

_TIME: Final = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_OFFSET: Final = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3])(?::?[0-5][0-9])?|14(?::?00)?))"
_DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO: Final = rf"^{_DATE}(?:{_TIME}{_OFFSET}?)?\z"
_ZONED: Final = rf"^{_DATE}{_TIME}{_OFFSET}\z"
# What is written already as it shall be, but for the 29th of February, for which a calendar is needed.
_CANONICAL: Final = (
    r"^(?!0000)[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{0,5}[1-9])?Z\z"
)
# Whether a pattern reads an offset or a zone, once its quoted texts are taken out.
_QUOTED: Final = re.compile(r"'[^']*'")
_ZONE_LETTERS: Final = frozenset("XxZzOV")
_UTC: Final = frozenset(("UTC", "Z", "GMT", "Etc/UTC"))


def moment(text: Column, reading: Moment, keep: Keep) -> Column:
    """The text's moment; null where it is none, or never was.

    It is made in steps, as each uses what was made before it more than once.
    """
    name = f"{reading} "
    if reading.formats:
        shown = [
            keep(4, f"{name}{number}", _by_format(text, pattern, reading.zone))
            for number, pattern in enumerate(reading.formats)
        ]
        return _written(F.coalesce(*shown))
    is_written = keep(3, f"{name}written", text.rlike(_CANONICAL))
    clock = keep(3, f"{name}clock", F.when(~text.rlike(_CANONICAL), _clock(text)))
    is_zoned = text.rlike(_ZONED)
    zone = "Z" if reading.zone else F.when(is_zoned, "Z").otherwise("")
    at = clock if _is_utc(reading.zone) else F.when(is_zoned, clock).otherwise(_at(clock, reading.zone))
    made = F.concat(at.cast("string"), F.lit(zone) if isinstance(zone, str) else zone)
    return _written(keep(4, f"{name}shown", F.when(is_written, text).otherwise(made)))


def moment_of(value: Column, *, has_zone: bool, zone: str) -> Column:
    """A timestamp of the source's own: a moment, or what a clock without a zone showed."""
    if has_zone:
        return _written(_shown(value, "Z"))
    return _written(_shown(_at(value.cast("timestamp"), zone), "Z" if zone else ""))


def _clock(text: Column) -> Column:
    """What a text in ISO 8601 shows, turned to UTC where it says from where."""
    # White space and other spellings that Spark's cast would take are no ISO 8601.
    # It wants seconds before an offset.
    whole = F.when(F.substring(text, 17, 1) == ":", text).otherwise(
        F.regexp_replace(text, "^(.{16})", "$1:00")
    )
    return F.when(text.rlike(_ISO), whole).try_cast("timestamp")


def _by_format(text: Column, pattern: str, zone: str) -> Column:
    if pattern == "epoch_s":
        # What is below a microsecond is cut off, as with every other form.
        seconds = F.when(text.rlike(r"^-?[0-9]{1,13}(?:\.[0-9]+)?\z"), text)
        whole = (seconds.try_cast("decimal(38,20)") * F.lit(1000000)).cast("bigint")
        return _shown(F.timestamp_micros(whole), "Z")
    if pattern == "epoch_ms":
        millis = F.when(text.rlike(r"^-?[0-9]{1,15}\z"), text).try_cast("bigint")
        return _shown(F.timestamp_millis(millis), "Z")
    shown = F.try_to_timestamp(text, F.lit(pattern))
    if _ZONE_LETTERS & set(_QUOTED.sub("", pattern)):
        return _shown(shown, "Z")
    return _shown(_at(shown, zone), "Z" if zone else "")


def _is_utc(zone: str) -> bool:
    return zone in _UTC or not zone


def _at(shown: Column, zone: str) -> Column:
    """The moment at which a clock of the zone showed this: of two the first; null where it never did."""
    if _is_utc(zone):
        return shown
    moment = F.to_utc_timestamp(shown, zone)
    return F.when(F.from_utc_timestamp(moment, zone) == shown, moment)


def _shown(moment: Column, zone: str) -> Column:
    return F.concat(moment.cast("string"), F.lit(zone))


def _written(shown: Column) -> Column:
    """XSD 1.1's canonical form; years 1 to 9999: all others are shown with a sign, and the one before them is 0000."""
    beyond = shown.startswith("+") | shown.startswith("-") | shown.startswith("0000")
    return F.when(~beyond, F.replace(shown, F.lit(" "), F.lit("T")))

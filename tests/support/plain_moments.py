"""Moments read in plain Python, by the rules of `clients/historic/plan.py`, Spark's patterns included."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from triplewire.clients.historic.reasons import Reason

from .plain_terms import SPACE, Broken

if TYPE_CHECKING:
    from triplewire.clients.historic.plan import Moment

_ISO = re.compile(
    r"(?P<y>[0-9]{4})-(?P<M>[0-9]{2})-(?P<d>[0-9]{2})"
    r"(?:[T ](?P<H>[0-9]{2}):(?P<m>[0-9]{2})(?::(?P<s>[0-9]{2})(?:\.(?P<S>[0-9]{1,9}))?)?"
    r"(?P<X>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Spark's letters: how many digits for one letter of them, and for as many as stand there.
_LETTERS = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letter>[A-Za-z])(?P=letter)*|(?P<other>[^A-Za-z'])")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(value: object, reading: Moment) -> str:
    """The moment as xsd:dateTime in UTC, in its canonical form."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Broken(Reason.IMPOSSIBLE_TIME if isinstance(value, bool) else Reason.NOT_A_VALUE)
    text = value.strip(SPACE) if isinstance(value, str) else _plain(value)
    for format_ in reading.formats or ("",):
        found = _read(text, format_, reading.zone)
        if found is not None:
            return _written(found)
    raise Broken(Reason.IMPOSSIBLE_TIME)


def _plain(value: float) -> str:
    try:
        return f"{Decimal(repr(value)):f}"
    except (ValueError, ArithmeticError):
        raise Broken(Reason.IMPOSSIBLE_TIME) from None


def _read(text: str, format_: str, zone: str) -> datetime | None:
    try:
        if format_ in ("epoch_s", "epoch_ms"):
            return _epoch(text, format_)
        found = (_ISO if not format_ else _pattern(format_)).fullmatch(text)
        return None if found is None else _moment(found.groupdict(), zone)
    except (ValueError, OverflowError):
        return None


def _epoch(text: str, format_: str) -> datetime | None:
    found = re.fullmatch(r"(-?)([0-9]+)(?:\.([0-9]+))?", text)
    if found is None or (format_ == "epoch_ms" and found[3] is not None):
        return None
    micros = int(found[2]) * 1_000_000 + int((found[3] or "0")[:6].ljust(6, "0"))
    if format_ == "epoch_ms":
        micros = int(found[2]) * 1000
    return _EPOCH + timedelta(microseconds=-micros if found[1] else micros)


def _moment(fields: dict[str, str | None], zone: str) -> datetime | None:
    local = datetime(  # noqa: DTZ001 the zone comes next
        int(fields["y"] or 1970),
        _month(fields.get("M") or "1"),
        int(fields.get("d") or 1),
        _hour(fields),
        int(fields.get("m") or 0),
        int(fields.get("s") or 0),
        int((fields.get("S") or "0")[:6].ljust(6, "0")),
    )
    offset = fields.get("X")
    if offset is not None:
        return local.replace(tzinfo=_offset(offset)).astimezone(UTC)
    if not zone:
        return local
    placed = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    # The hour that spring leaves out comes back as another one.
    is_real = placed.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == local
    return placed if is_real else None


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS.index(text.lower()[:3]) + 1


def _hour(fields: dict[str, str | None]) -> int:
    if fields.get("h") is None:
        return int(fields.get("H") or 0)
    hour = int(fields["h"] or 0)
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if (fields.get("a") or "am").lower() == "pm" else 0)


def _offset(text: str) -> timezone:
    if text in ("Z", "z"):
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    if int(digits[2:]) > 59 or minutes > 14 * 60:
        raise ValueError(text)
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _pattern(format_: str) -> re.Pattern[str]:
    return re.compile("".join(_piece(found) for found in _LETTERS.finditer(format_)), re.IGNORECASE)


def _piece(found: re.Match[str]) -> str:
    if found["quoted"] is not None:
        return re.escape(found["quoted"].replace("''", "'") or "'")
    letter, count = found["letter"], len(found.group())
    if letter is None:
        return re.escape(found.group())
    if letter in "yu":
        return "(?P<y>[0-9]{4})"
    if letter == "M" and count > 2:
        return f"(?P<M>{'|'.join(_MONTHS)})"
    if letter in "MdHhms":
        return f"(?P<{letter}>[0-9]{{{1 if count == 1 else count},2}})"
    if letter == "S":
        return f"(?P<S>[0-9]{{{count}}})"
    if letter == "a":
        return "(?P<a>am|pm)"
    if letter in "Xx":
        zulu = "Z|" if letter == "X" else ""
        minutes = {1: "(?:[0-9]{2})?", 2: "[0-9]{2}", 3: ":[0-9]{2}"}[count]
        return f"(?P<X>{zulu}[+-][0-9]{{2}}{minutes})"
    raise NotImplementedError(f"the pattern letter {letter}")


def _written(found: datetime) -> str:
    fraction = f".{found.microsecond:06d}".rstrip("0").rstrip(".")
    zone = "Z" if found.tzinfo is not None else ""
    return f"{found.replace(tzinfo=None, microsecond=0).isoformat()}{fraction}{zone}"

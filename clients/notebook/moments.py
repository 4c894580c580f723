"""Points in time of XSD as whole nanoseconds, which pandas counts in, too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

# XML Schema 1.1 part 2, 3.3.7 (dateTime) and 3.3.9 (date); years of more than four digits are beyond what is counted here.
_LEXICAL: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:T(\d\d):([0-5]\d):([0-5]\d)(?:\.(\d+))?)?"
    r"(?:(Z)|([+-])(\d\d):([0-5]\d))?",
    re.ASCII,
)
_EPOCH: Final = date(1970, 1, 1).toordinal()
_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Moment:
    """Nanoseconds since 1970: of UTC where it has a zone, else of a clock on some wall."""

    nanoseconds: int
    has_zone: bool

    @classmethod
    def of(cls, text: str) -> Moment | None:
        """A dateTime, or the beginning of a date; None where it is none, or not to be counted exactly."""
        found = _LEXICAL.fullmatch(text)
        if found is None:
            return None
        year, month, day, hour, minute, second, fraction, utc, sign, zone_hour, zone_minute = found.groups()
        seconds = int(hour or 0) * 3600 + int(minute or 0) * 60 + int(second or 0)
        zone = int(zone_hour or 0) * 3600 + int(zone_minute or 0) * 60
        digits = (fraction or "").rstrip("0")
        # 24:00:00 is the end of a day; a zone goes to 14:00
        if seconds > 86400 or (seconds == 86400 and digits) or zone > 50400 or len(digits) > 9:
            return None
        try:
            days = date(int(year), int(month), int(day)).toordinal() - _EPOCH
        except ValueError:
            return None
        since = days * 86400 + seconds - (-zone if sign == "-" else zone)
        return cls(since * _SECOND + int(digits.ljust(9, "0") or 0), utc is not None or sign is not None)

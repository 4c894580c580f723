"""Durations and times as options of commands."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.ASCII)
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.2 on
    """`500ms`, `10s`, `5m`, `1h` or `2d` as a timedelta."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Not negative; what click has made already stays."""
        if isinstance(value, timedelta):
            return value
        found = _DURATION.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r} is no duration; 500ms, 10s, 5m, 1h and 2d are", param, ctx)
        try:
            return timedelta(**{_UNITS[found[2]]: float(found[1])})
        except OverflowError:
            self.fail(f"{value!r} is too long", param, ctx)


class Time(click.ParamType):  # type: ignore[type-arg]
    """`2026-05-04T10:00:00Z`, or `now`; local where it has no zone."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """With a zone."""
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        if text == "now":
            return datetime.now(UTC)
        try:
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo is not None else moment.astimezone()).astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is no time; 2026-05-04T10:00:00Z and 2026-05-04 are", param, ctx)

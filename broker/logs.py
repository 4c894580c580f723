"""How the log is written: a line of text for people, or a JSON object a line for programs that keep logs."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from .tracing import COURSE

_TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"


def configure(level: str, form: str) -> None:
    """Log to standard error from `level` on, as `text` or as `json`."""
    target = logging.StreamHandler(sys.stderr)
    target.setFormatter(JsonLines() if form == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=level.upper(), handlers=[target])


class JsonLines(logging.Formatter):
    """One object a line: time (RFC 3339), level, logger, message; trace_id and exception where there are such."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        at = datetime.fromtimestamp(record.created, UTC)
        said = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        course = COURSE.get()
        if course is not None and course.trace_id:
            said["trace_id"] = course.trace_id
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        # A lone surrogate, which a client may send, is no UTF-8: it stays escaped
        return json.dumps(said)

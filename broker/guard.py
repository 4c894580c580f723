"""What stands before Oxigraph: texts that would kill or hang the process are refused by a clear error.

Measured on pyoxigraph 0.5: 2,000 nested functions or sub-SELECTs, 5,000 nested parentheses, 5,000 BINDs or 20,000
`&& 1` overflow the stack and end the process without an exception; a join of 160 triple patterns is planned for 7 s, of
320 for 130 s, and can't be stopped.  So nesting, the number of operators (all that make the algebra's tree deeper), the
joins of one scope and the planner's work are bounded, by settings, before a text gets there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from .complexity import Counter
from .errors import RequestTooLarge

if TYPE_CHECKING:
    from .config import LimitsConfig

_FEW_BRACES = 8
_FEW_CHARS = 1000
_REMEMBERED_CHARS = 4096
_PATTERN = re.compile("WHERE", re.IGNORECASE)


def check_query(sparql: str, limits: LimitsConfig) -> None:
    """Refuse a query that is too long or too complex.

    Raises:
        RequestTooLarge: it has more characters than limits.query_chars.
        QueryTooComplex: it nests, chains or joins more than the limits allow.
    """
    if len(sparql) > limits.query_chars:
        raise RequestTooLarge(
            f"the query has {len(sparql)} characters; at most {limits.query_chars} are read (limits.query_chars)"
        )
    _check(sparql, limits)


def check_update(sparql: str, limits: LimitsConfig) -> None:
    """Refuse an update that is too complex; its length is bounded by the body's.

    Raises:
        QueryTooComplex: it nests, chains or joins more than the limits allow.
    """
    if sum(map(sparql.count, ("(", "[", "{", "<<"))) <= limits.nesting and _PATTERN.search(sparql) is None:
        return  # nothing but data: what is not nested does no harm
    _check(sparql, limits)


def _check(sparql: str, limits: LimitsConfig) -> None:
    # Counting characters costs nothing and clears many a text that can't hold any of the traps.
    if (
        len(sparql) <= min(_FEW_CHARS, limits.operators)
        and sparql.count("{") <= min(_FEW_BRACES, limits.nesting)
        and sum(map(sparql.count, ".;,/[")) <= limits.joins
        and not any(mark in sparql for mark in ("(", "|", "~", "<<"))
    ):
        return
    _walk(sparql, limits) if len(sparql) > _REMEMBERED_CHARS else _remembered(sparql, limits)


def _walk(sparql: str, limits: LimitsConfig) -> None:
    Counter(limits).count(sparql)


_remembered = lru_cache(maxsize=512)(_walk)  # applications send the same few texts again and again

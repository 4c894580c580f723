"""What stands before Oxigraph: texts that would kill or hang the process are refused by a clear error.

Measured on pyoxigraph 0.5: 2,000 nested functions or sub-SELECTs, 5,000 nested parentheses, 5,000 BINDs or 20,000
`&& 1` overflow the stack and end the process without an exception; a join of 160 triple patterns is planned for 7 s, of
320 for 130 s, and can't be stopped.  So nesting, the number of operators (all that make the algebra's tree deeper), the
joins of one scope and the planner's work are bounded, by settings, before a text gets there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .complexity import Counter
from .errors import RequestTooLarge
from .tokens import shape

if TYPE_CHECKING:
    from .config import LimitsConfig
    from .tokens import Shape

_FEW_BRACES = 8
_FEW_CHARS = 1000
_EXAMPLES = {'"': '""', "<": "<urn:x>", "0": "0", "+": "+0", "-": "-0", "#": " "}


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
    if "WHERE" not in sparql.upper() and sum(map(sparql.count, ("(", "[", "{", "<<"))) <= limits.nesting:
        return  # nothing but data: what is not nested does no harm
    _check(sparql, limits)


def _check(sparql: str, limits: LimitsConfig) -> None:
    # Counting characters costs nothing and clears many a text that can't hold any of the traps.
    if (
        len(sparql) <= min(_FEW_CHARS, limits.operators)
        and sparql.count("{") <= min(_FEW_BRACES, limits.nesting)
        and sum(map(sparql.count, ".;,/[")) <= limits.joins
        and not ("(" in sparql or "|" in sparql or "~" in sparql or "<<" in sparql)
    ):
        return
    found = shape(sparql)
    if found is None or not _passes(found[0], limits):
        Counter(limits).count(sparql)


@lru_cache(maxsize=512)  # applications send the same few texts again and again, with other constants
def _passes(shape: Shape, limits: LimitsConfig) -> bool:
    """Whether all texts of a shape are within the limits.

    Raises:
        QueryTooComplex: none is.
    """
    counter = Counter(limits)
    counter.count(shape.filled(_EXAMPLES.get(kind, kind) for kind in shape.kinds))
    return not counter.looked_into_iris  # what it found there is not the same for all

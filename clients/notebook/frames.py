"""Answers as DataFrames: a column for each variable, in the answer's order, a row for each row, duplicates included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyoxigraph import Triple

from triplewire.broker.model import Bindings
from triplewire.clients.live_query import LiveQuery
from triplewire.clients.sparql import SparqlClient

from .access import tokens_for
from .columns import column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triplewire.broker.model import Query, Row
    from triplewire.clients.authorization import Authorization
    from triplewire.clients.settings import ClientSettings
    from triplewire.clients.solutions import Solution

_TRIPLE = ("subject", "predicate", "object")


def frame(
    results: Bindings | LiveQuery | Iterable[Solution] | Iterable[Triple],
    columns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """What a client answered as a DataFrame; see `columns.py` for its types.

    `results` is what `SparqlClient.query`, `select` or `construct` returns, what a callback is given, or a live query.
    `columns` are the variables and their order; rows that are mappings do not tell those that are unbound everywhere.

    Raises:
        TypeError: it is nothing of that kind.
    """
    variables, rows = _table(results)
    if columns is None:
        return of_rows(variables, rows)
    places = [variables.index(name) if name in variables else None for name in columns]
    return of_rows(
        tuple(columns), [tuple(None if place is None else row[place] for place in places) for row in rows]
    )


def query(
    url: str,
    sparql: str | Query,
    *,
    identity: str | None = None,
    authorization: Authorization | None = None,
    settings: ClientSettings | None = None,
) -> pd.DataFrame:
    """Ask a broker, or any SPARQL 1.1 endpoint, and have the answer as a DataFrame.

    ASK has one row and the column `boolean`, CONSTRUCT and DESCRIBE have `subject`, `predicate` and `object`.
    At a secure broker say an `identity` that `triplewire register` has registered, or where tokens come from.

    Raises:
        BrokerRefused: the broker's own error.
        ConnectionLost: it can't be reached, or did not answer in time.
    """
    tokens = tokens_for(url, identity, authorization, settings)
    with SparqlClient(url, authorization=tokens, settings=settings) as client:
        answer = client.query(sparql)
    return frame(answer, None if isinstance(answer, Bindings) else _TRIPLE)


def of_rows(variables: tuple[str, ...], rows: Sequence[Row]) -> pd.DataFrame:
    """Rows over `variables` as a DataFrame with the index 0, 1, 2 and so on."""
    index = pd.RangeIndex(len(rows))
    columns: Iterable[Any] = zip(*rows, strict=True) if rows else ([] for _ in variables)
    return pd.DataFrame(
        {name: pd.Series(column(terms), index) for name, terms in zip(variables, columns, strict=True)},
        index=index,
        columns=pd.Index(variables, dtype=object),
    )


def of_solutions(variables: tuple[str, ...], solutions: Iterable[Solution]) -> pd.DataFrame:
    """The same for rows that are mappings."""
    return of_rows(variables, [tuple(map(solution.get, variables)) for solution in solutions])


def _table(results: Any) -> tuple[tuple[str, ...], Sequence[Row]]:
    if isinstance(results, Bindings):
        return results.vars, results.rows
    if isinstance(results, LiveQuery):
        answer = results.answer
        return results.vars, [tuple(map(row.get, results.vars)) for row in answer]
    rows = list(results) if isinstance(results, Iterable) and not isinstance(results, str | bytes) else None
    if rows is not None and all(isinstance(row, Mapping) for row in rows):
        names = tuple(dict.fromkeys(name for row in rows for name in row))
        return names, [tuple(map(row.get, names)) for row in rows]
    if rows is not None and all(isinstance(row, Triple) for row in rows):
        return _TRIPLE, [(row.subject, row.predicate, row.object) for row in rows]
    raise TypeError(
        f"a DataFrame is made of an answer, of rows or of triples, not of {type(results).__name__}"
    )

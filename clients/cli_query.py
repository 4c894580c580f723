"""`triplewire query`: a table on a terminal, otherwise the broker's own bytes."""

from __future__ import annotations

import shutil
import sys
from typing import IO, TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from triplewire.broker.model import Bindings, Query
from triplewire.broker.wire import media

from .addresses import Addresses
from .cli_common import (
    access_options,
    dataset_options,
    is_terminal,
    sparql_arguments,
    sparql_text,
    url_option,
)
from .prefixes import Prefixes
from .sparql import SparqlClient

if TYPE_CHECKING:
    from .cli_common import Access
    from .flows import Answer

FORMATS = {
    "json": media.JSON,
    "xml": media.XML,
    "csv": media.CSV,
    "tsv": media.TSV,
    "turtle": media.TURTLE,
    "ntriples": media.N_TRIPLES,
    "rdfxml": media.RDF_XML,
    "jsonld": media.JSON_LD,
    "nquads": media.N_QUADS,
    "trig": media.TRIG,
}
# For programs that read our output: whichever of the two can be made of the answer.
PIPED = f"{media.TSV.media_type}, {media.N_TRIPLES.media_type};q=0.9"


@click.command()
@url_option
@access_options
@click.option("--format", "format_", type=click.Choice(list(FORMATS)), help="The format of the answer.")
@dataset_options
@sparql_arguments
def query(  # noqa: PLR0913, PLR0917 - one for each option
    url: str,
    format_: str | None,
    default_graphs: tuple[str, ...],
    named_graphs: tuple[str, ...],
    sparql: str | None,
    file: IO[str] | None,
    access: Access,
) -> None:
    """Ask a SPARQL query.

    On a terminal the answer is a table.  Into a pipe or file it is TSV (true or false for ASK), or N-Triples for
    CONSTRUCT and DESCRIBE; --format chooses another format.
    """
    text = sparql_text(sparql, file)
    asked = Query(text, default_graphs, named_graphs)
    authorization = access.authorization(Addresses.of(url))
    with SparqlClient(url, settings=access.settings(), authorization=authorization) as client:
        if format_ is None and is_terminal():
            _show(client.query(asked), Prefixes.of(text))
            return
        accept = FORMATS[format_].media_type if format_ is not None else PIPED
        last = b""
        with client.download(asked, accept) as chunks:
            for chunk in chunks:
                sys.stdout.buffer.write(chunk)
                last = chunk or last
        if format_ is None and not last.endswith(b"\n"):
            sys.stdout.buffer.write(b"\n")  # a lone true or false


def _show(answer: Answer, prefixes: Prefixes) -> None:
    if isinstance(answer, Bindings):
        names, rows = answer.vars, answer.rows
    else:
        names = ("subject", "predicate", "object")
        rows = tuple((triple.subject, triple.predicate, triple.object) for triple in answer)
    if names == ("boolean",):
        print("true" if "true" in str(rows[0][0]) else "false")
        return
    table = Table(*names)
    for row in rows:
        table.add_row(*(Text(prefixes.short(term) if term is not None else "") for term in row))
    console = Console(width=max(shutil.get_terminal_size().columns, 40))
    console.print(table)
    console.print(f"{len(rows)} row{'' if len(rows) == 1 else 's'}")

"""`triplewire update`."""

from __future__ import annotations

from typing import IO

import click

from triplewire.broker.model import Update

from .cli_common import sparql_arguments, sparql_text, url_option
from .sparql import SparqlClient


@click.command()
@url_option
@click.option("--using-graph", "using", metavar="IRI", multiple=True, help="As USING in each operation.")
@click.option("--using-named-graph", "using_named", metavar="IRI", multiple=True, help="As USING NAMED.")
@sparql_arguments
def update(
    url: str, using: tuple[str, ...], using_named: tuple[str, ...], sparql: str | None, file: IO[str] | None
) -> None:
    """Make a SPARQL update.  It has been made, and subscribers have been told, when this ends with 0."""
    made = Update(sparql_text(sparql, file), using, using_named)
    with SparqlClient(url) as client:
        client.update(made)

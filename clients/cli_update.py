"""`triplewire update`."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import click

from triplewire.broker.model import Update

from .addresses import Addresses
from .cli_common import access_options, sparql_arguments, sparql_text, url_option
from .sparql import SparqlClient

if TYPE_CHECKING:
    from .cli_common import Access


@click.command()
@url_option
@access_options
@click.option("--using-graph", "using", metavar="IRI", multiple=True, help="As USING in each operation.")
@click.option("--using-named-graph", "using_named", metavar="IRI", multiple=True, help="As USING NAMED.")
@sparql_arguments
def update(  # noqa: PLR0913, PLR0917 - one for each option
    url: str,
    using: tuple[str, ...],
    using_named: tuple[str, ...],
    sparql: str | None,
    file: IO[str] | None,
    access: Access,
) -> None:
    """Make a SPARQL update.  It has been made, and subscribers have been told, when this ends with 0."""
    made = Update(sparql_text(sparql, file), using, using_named)
    authorization = access.authorization(Addresses.of(url))
    with SparqlClient(url, settings=access.settings(), authorization=authorization) as client:
        client.update(made)

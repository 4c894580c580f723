"""What the commands share: options, texts from arguments or files, terminals."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, TypeVar

import click

from .addresses import Addresses

if TYPE_CHECKING:
    from collections.abc import Callable

C = TypeVar("C", bound="Callable[..., object]")

DEFAULT_URL = "http://localhost:8000"


def url_option(command: C) -> C:
    """`--url`, from the environment where it is not given."""
    return click.option(
        "--url",
        envvar="TRIPLEWIRE_URL",
        default=DEFAULT_URL,
        show_default=True,
        show_envvar=True,
        help="The broker, or one SPARQL endpoint.",
        callback=_checked,
    )(command)


def sparql_arguments(command: C) -> C:
    """A SPARQL text as the argument, or `-f FILE`."""
    command = click.argument("sparql", required=False)(command)
    return click.option(
        "-f",
        "--file",
        "file",
        type=click.File(encoding="utf-8"),
        help="Read the SPARQL from a file; - is stdin.",
    )(command)


def dataset_options(command: C) -> C:
    """`--default-graph` and `--named-graph` (SPARQL 1.1 Protocol, 2.1.4)."""
    for name, what in (("named", "A named graph"), ("default", "A part of the default graph")):
        command = click.option(
            f"--{name}-graph", f"{name}_graphs", metavar="IRI", multiple=True, help=f"{what} of the dataset."
        )(command)
    return command


def sparql_text(sparql: str | None, file: IO[str] | None) -> str:
    """The one text that was given.

    Raises:
        click.UsageError: there are none, or two.
    """
    if (sparql is None) == (file is None):
        raise click.UsageError("give the SPARQL as an argument or in a file with -f, one of the two")
    if file is None:
        assert sparql is not None
        return sparql
    return file.read()


def is_terminal() -> bool:
    """Whether a person looks at what we print."""
    return sys.stdout.isatty()


def _checked(_: click.Context, __: click.Parameter, url: str) -> str:
    try:
        Addresses.of(url)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return url

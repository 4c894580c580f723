"""What the commands share: options, texts from arguments or files, terminals."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from .addresses import Addresses
from .client_credentials import ClientCredentials
from .settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from .authorization import Authorization

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
        callback=checked_url,
    )(command)


@dataclass(frozen=True, slots=True)
class Access:
    """How a command proves who asks, and whom it believes: the options of `access_options`."""

    identity: str | None = None
    token: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    insecure: bool = False

    def settings(self, settings: ClientSettings | None = None) -> ClientSettings:
        """The client's settings with what was said of certificates."""
        settings = settings or ClientSettings()
        return replace(
            settings,
            ca_file=self.ca_file or settings.ca_file,
            verify=settings.verify and not self.insecure,
        )

    def authorization(self, at: Addresses) -> Authorization | None:
        """Where tokens for that broker come from; None for none."""
        if self.token is not None or self.identity is None:
            return self.bearer()
        return self.credentials(at)

    def bearer(self) -> Authorization | None:
        """The token that was given, None where none was."""
        token = self.token
        return None if token is None else lambda: token

    def credentials(self, at: Addresses) -> ClientCredentials:
        """The identity's tokens at that broker."""
        assert self.identity is not None  # whoever asks has required the option
        return ClientCredentials(self.identity, at.register, at.token, settings=self.settings())


def access_options(command: C) -> C:
    """`--identity`, `--token`, `--token-file`, `--ca` and `--insecure`, as one argument `access`."""

    @functools.wraps(command)
    def with_access(*args: Any, token: str | None, token_file: Path | None, **given: Any) -> object:
        if token is not None and token_file is not None:
            raise click.UsageError("--token and --token-file exclude each other")
        if token_file is not None:
            token = _first_line(token_file)
        if token is not None and not (token.isascii() and token.isprintable() and token):
            raise click.UsageError("the token is empty, or has characters that no token has")
        access = Access(given.pop("identity"), token, given.pop("ca"), given.pop("insecure"))
        return command(*args, access=access, **given)

    options = (
        identity_option,
        click.option(
            "--token",
            envvar="TRIPLEWIRE_TOKEN",
            show_envvar=True,
            help="A bearer token.  Other users can see the command line: rather use the variable, or --token-file.",
        ),
        click.option(
            "--token-file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A file whose first line is a bearer token.",
        ),
        *_tls_options(),
    )
    made: C = _with(options, with_access)
    return made


def login_options(command: C) -> C:
    """`--identity`, which must be given, `--ca` and `--insecure`, as one argument `access`."""

    @functools.wraps(command)
    def with_access(*args: Any, identity: str, ca: str | None, insecure: bool, **given: Any) -> object:
        return command(*args, access=Access(identity, None, ca, insecure), **given)

    made: C = _with((functools.partial(identity_option, required=True), *_tls_options()), with_access)
    return made


def identity_option(command: C, *, required: bool = False) -> C:
    """`--identity`, from the environment where it is not given."""
    return click.option(
        "--identity",
        envvar="TRIPLEWIRE_IDENTITY",
        show_envvar=True,
        required=required,
        metavar="ID",
        help="Who asks; registered at the broker at first, and remembered.",
    )(command)


def _with(options: tuple[Callable[..., Any], ...], command: Any) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


def _tls_options() -> tuple[Callable[..., Any], ...]:
    return (
        click.option(
            "--ca",
            envvar="TRIPLEWIRE_CA",
            show_envvar=True,
            type=click.Path(exists=True, dir_okay=False),
            help="A PEM file of the authorities that are believed.  [the system's]",
        ),
        click.option(
            "--insecure", is_flag=True, help="Believe any certificate: whoever is on the way can read all."
        ),
    )


def _first_line(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as lines:
        return lines.readline(65_536).strip()


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


def checked_url(_: click.Context, __: click.Parameter, url: str) -> str:
    """An option's value, where it is a broker's URL."""
    try:
        Addresses.of(url)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return url

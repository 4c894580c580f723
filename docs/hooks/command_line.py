# ruff: noqa: INP001 - MkDocs loads it by its path
"""The page of the command line: each command with its help and options, as click has them."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click

from triplewire.clients.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTRODUCTION = """# Command line

Made from the commands themselves when this book is built. `triplewire COMMAND --help` says the same.

A command ends with 0 if all is well, 1 if the broker refused or problems were found, 2 if the command was given wrongly,
3 if it can't connect, and 130 if it was interrupted. Errors are one line on standard error.
"""


def command_line_page() -> str:
    """The page, in Markdown."""
    return "\n".join(
        [_INTRODUCTION, *(_told(command, path) for command, path in _commands(cli, "triplewire"))]
    )


def _commands(group: click.Group, path: str) -> Iterator[tuple[click.Command, str]]:
    for name, command in sorted(group.commands.items()):
        if command.hidden:
            continue
        yield command, f"{path} {name}"
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")


def _told(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"## {path} {{ #{path.replace(' ', '-')} }}", f"```text\n{path} {usage}\n```", _help(command)]
    options = [
        record
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) is not None and parameter.name != "help"
    ]
    if options:
        rows = "\n".join(f"| `{_cell(name)}` | {_text(_cell(help_))} |" for name, help_ in options)
        parts.append(f"| option | meaning |\n|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command) -> str:
    return _text(inspect.cleandoc(command.help or ""))


def _cell(text: str) -> str:
    """On one line, and no end of the cell."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _text(text: str) -> str:
    """Words that are no markup: brackets, stars and underscores stay as they are; what is in backquotes is code."""
    parts = text.split("`")
    plain = [
        re.sub(r"([*_<>\[\]])", r"\\\1", part) if place % 2 == 0 else part for place, part in enumerate(parts)
    ]
    return "`".join(plain)

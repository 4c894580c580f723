"""The command line.  Exit codes: 0 well, 1 the broker refused or problems were found, 2 usage, 3 can't connect.

Each command is a file of its own; what they share is in `cli_common.py`.
"""

from __future__ import annotations

import logging
import os
import sys

import click

from triplewire.broker.errors import (
    BrokerError,
    ClientError,
    ConfigError,
    ConnectionLost,
    JournalDamaged,
    ProfileError,
)

from .cli_consume import consume
from .cli_explain import explain
from .cli_history import history
from .cli_journal import journal
from .cli_jsap import jsap
from .cli_keys import keys
from .cli_load import load
from .cli_login import login, logout, register, token
from .cli_mcp import mcp
from .cli_publish import publish
from .cli_query import query
from .cli_relay import relay
from .cli_serve import serve
from .cli_subscribe import subscribe
from .cli_top import top
from .cli_tracker import tracker
from .cli_update import update
from .prefixes import escaped

REFUSED, USAGE, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="triplewire", prog_name="triplewire")
def cli() -> None:
    """Know when the answer to a question changes: a SPARQL event broker and its clients."""


for command in (
    serve,
    query,
    update,
    subscribe,
    publish,
    consume,
    relay,
    tracker,
    load,
    history,
    register,
    login,
    logout,
    token,
    jsap,
    explain,
    mcp,
    top,
    journal,
    keys,
):
    cli.add_command(command)


def main() -> None:
    """Run the command that the process was started with, and end the process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors are one line on standard error."""
    # Only our own lines tell of errors: the library's warnings would tell them twice.
    logging.getLogger("triplewire.clients").addHandler(logging.NullHandler())
    try:
        # Not cli.main(): it would make every closed pipe an exit code of 1.
        with cli.make_context("triplewire", arguments) as context:
            result = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has what it wanted (`| head`).  Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ConfigError as error:
        return _failed(error, USAGE)
    except ConnectionLost as error:
        return _failed(error, UNREACHABLE)
    except (BrokerError, ClientError, JournalDamaged, ProfileError, click.ClickException, OSError) as error:
        return _failed(error, REFUSED)
    return result if isinstance(result, int) else 0


def _failed(error: Exception, code: int) -> int:
    message = error.message if isinstance(error, click.ClickException) else str(error)
    print(f"triplewire: {escaped(' '.join(message.split()))}", file=sys.stderr)
    return code

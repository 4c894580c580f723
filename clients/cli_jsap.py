"""`triplewire jsap check`."""

from __future__ import annotations

import click

from triplewire.jsap.check import check as problems_of


@click.group()
def jsap() -> None:
    """JSON SPARQL Application Profiles."""


@jsap.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def check(file: str) -> int:
    """Tell what is wrong with a profile; 1 if any of it is an error rather than a warning."""
    problems = problems_of(file)
    for problem in problems:
        print(f"{file}: {problem}")
    if not problems:
        print(f"{file}: no problems")
    return 1 if any(problem.severity == "error" for problem in problems) else 0

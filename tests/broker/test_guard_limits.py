"""The proof of the guard's limits: what it just lets pass neither kills Oxigraph nor keeps it busy for long.

Each family of patterns grows to the last number that passes, and is then evaluated on a worker thread of the broker's
own kind, in a process that may die of it, on an empty store and on a small one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from support.worst_texts import (
    EXPRESSIONS,
    GROUPS,
    JOINS,
    OPERATORS,
    TERMS,
    TOGETHER,
    as_query,
    as_update,
    largest,
)

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import BrokerError
from triplewire.broker.guard import check_query, check_update

LIMITS = LimitsConfig()
FAMILIES = (
    EXPRESSIONS
    | GROUPS
    | TERMS
    | OPERATORS
    | {f"join of {name}": family for name, family in JOINS.items()}
    | TOGETHER
)

# Each predicate leads from each node to one other: patterns meet data, and have few answers.
RUNNER = """
import json, sys, time
from pyoxigraph import Store
from triplewire.broker.threads import Workers

def fresh():
    store = Store()
    if sys.argv[1] == "filled":
        triples = " ".join(f"<n{n}> <{p}> <n{(n + 1) % 8}> ." for n in range(8) for p in ("p", "p0", "p1", "p2"))
        store.update(f"INSERT DATA {{ {triples} GRAPH <g> {{ {triples} }} }}", base_iri="http://localhost/")
    return store

def take(store, kind, text):
    if kind == "update":
        store.update(text, base_iri="http://localhost/")
        return
    for _, _ in zip(range(1000), store.query(text, base_iri="http://localhost/")):
        pass

def work():
    for line in sys.stdin:
        name, kind, text = json.loads(line)
        store = fresh()
        started, error = time.monotonic(), None
        print(json.dumps(name), flush=True)
        try:
            take(store, kind, text)
        except (RuntimeError, OSError) as caught:
            error = str(caught)
        except SyntaxError as caught:
            error = f"SyntaxError: {caught}"
        print(json.dumps([name, time.monotonic() - started, error]), flush=True)

workers = Workers(1, "reader")
workers.submit(work)
workers.stop()
workers.join(110)
"""


def passes(check, text):
    """Whether the guard lets it through to Oxigraph."""
    try:
        check(text, LIMITS)
    except BrokerError:
        return False
    return True


@cache
def queries():
    """Of each family the last number that passes."""
    numbers = {
        name: largest(family, lambda body: passes(check_query, as_query(body)))
        for name, family in FAMILIES.items()
    }
    assert all(numbers.values()), "each is allowed at all"
    return numbers


def updates():
    """The same of those that are no matter of the planner alone: an update has a word more, or one less."""
    for name in FAMILIES.keys() - TOGETHER.keys():
        for number in range(queries()[name] + 2, 0, -1):
            text = as_update(FAMILIES[name](number))
            if passes(check_update, text):
                yield name, "update", text
                break


def run(filled, texts):
    """Seconds and errors by name; a text that ends the process is named."""
    process = subprocess.run(
        [sys.executable, "-P", "-c", RUNNER, filled],
        input="".join(json.dumps(text) + "\n" for text in texts),
        capture_output=True,
        text=True,
        timeout=115,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    assert process.returncode == 0, f"{lines[-1:]} ended the process with {process.returncode}"
    found = {
        name: (seconds, error) for name, seconds, error in (line for line in lines if isinstance(line, list))
    }
    assert len(found) == len(texts), f"{lines[-1:]} did not end"
    return found


@pytest.mark.parametrize("filled", ["empty", "filled"])
def test_what_just_passes_is_answered_soon(filled):
    """Every family of patterns, as a query."""
    texts = [(name, "query", as_query(FAMILIES[name](number))) for name, number in queries().items()]
    found = run(filled, texts)
    assert not {name: seconds for name, (seconds, _) in found.items() if seconds > 5}
    errors = {name: error for name, (_, error) in found.items() if error}
    assert not errors, "each is SPARQL that can be evaluated, or it would prove nothing"


def test_an_update_that_just_passes_is_done_soon():
    """The same patterns where their solutions are written."""
    found = run("empty", list(updates()))
    assert len(found) > 90
    assert not {name: seconds for name, (seconds, _) in found.items() if seconds > 5}

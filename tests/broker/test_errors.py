"""The errors are the tree that their module shows, each with the status and code that senders rely on."""

from __future__ import annotations

import inspect
import re

import pytest

from triplewire.broker import errors
from triplewire.broker.errors import BrokerError, EngineError, Overloaded, RequestError

LINE = re.compile(r"^( +)(\w+)(?: +(\d{3}))?(?:  (.*))?$")


def shown():
    """The tree of the docstring: name, parent, status, words; in its order."""
    block = errors.__doc__.split("::\n", 1)[1]
    above: list[tuple[int, str]] = []
    for line in filter(str.strip, block.splitlines()):
        indent, name, status, words = LINE.match(line).groups()
        while above and above[-1][0] >= len(indent):
            above.pop()
        yield name, above[-1][1] if above else None, int(status) if status else None, words or ""
        above.append((len(indent), name))


CLASSES = {
    name: found
    for name, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, Exception) and found.__module__ == errors.__name__
}
TREE = {name: (parent, status) for name, parent, status, _ in shown()}


def test_the_tree_is_whole():
    """Every class is in it, and nothing else."""
    assert set(TREE) == set(CLASSES)


@pytest.mark.parametrize("name", TREE)
def test_each_stands_where_the_tree_shows_it(name):
    """Under its base class, with its status."""
    parent, status = TREE[name]
    base = CLASSES[name].__base__
    assert base is (CLASSES[parent] if parent else (ValueError if name == "ProtocolError" else Exception))
    if status is not None:
        assert CLASSES[name].status == status


CODES = {
    "BrokerError": ("internal_error", 500),
    "RequestError": ("bad_request", 400),
    "MalformedRequest": ("bad_request", 400),
    "SparqlSyntaxError": ("parsing failed", 400),
    "UnsupportedOperation": ("unsupported", 400),
    "QueryTooComplex": ("too_complex", 400),
    "Unauthorized": ("invalid_grant", 401),
    "Forbidden": ("forbidden", 403),
    "GraphNotFound": ("graph_not_found", 404),
    "NotFound": ("not_found", 404),
    "MethodNotAllowed": ("method_not_allowed", 405),
    "NotAcceptable": ("not_acceptable", 406),
    "Conflict": ("conflict", 409),
    "Gone": ("gone", 410),
    "RequestTooLarge": ("too_large", 413),
    "UnsupportedMediaType": ("unsupported_media_type", 415),
    "UnknownSubscription": ("sid_not_found", 500),
    "Overloaded": ("overloaded", 503),
    "TooManyRequests": ("too_many_requests", 429),
    "DeadlineExceeded": ("timeout", 504),
    "ShuttingDown": ("shutting_down", 503),
    "EngineError": ("internal_error", 500),
    "StoreError": ("store_error", 500),
    "EndpointError": ("sparql11_endpoint", 502),
    "UnitFailed": ("subscription_failed", 500),
}


def test_the_codes_are_those_of_the_wire():
    """Each class that a sender is told has a code and a status, which clients compare."""
    told = {
        name: (found.code, found.status) for name, found in CLASSES.items() if issubclass(found, BrokerError)
    }
    assert told == CODES


@pytest.mark.parametrize("name", CODES)
def test_who_is_to_blame(name):
    """Only the sender's doing is 4xx, but for SEPA's own 500 and for 429; only what may pass has Retry-After."""
    found = CLASSES[name]
    if issubclass(found, RequestError) and name != "UnknownSubscription":
        assert 400 <= found.status < 500
    elif name != "TooManyRequests":
        assert found.status >= 500
    assert hasattr(found, "retry_after_s") == issubclass(found, Overloaded)
    assert not issubclass(found, EngineError) or found.status >= 500


def test_a_code_can_be_given():
    """To one error; its class keeps its own."""
    error = RequestError("why", code="parsing failed")
    assert (error.code, error.description, str(error)) == ("parsing failed", "why", "why")
    assert RequestError("why").code == "bad_request"


def test_what_some_errors_carry():
    """A place, the methods allowed, a path into a profile, the broker's own words."""
    syntax = errors.SparqlSyntaxError("x", line=2, column=3)
    assert (syntax.line, syntax.column, errors.SparqlSyntaxError("x").line) == (2, 3, None)
    assert errors.MethodNotAllowed("x", allow=("GET", "POST")).allow == ("GET", "POST")
    assert str(errors.ProfileError("queries.a", "is missing")) == "queries.a: is missing"
    assert str(errors.ProfileError("", "is empty")) == "is empty"
    refused = errors.BrokerRefused("timeout", 504, "late")
    assert (refused.code, refused.status, refused.description, str(refused)) == (
        "timeout",
        504,
        "late",
        "late (timeout, 504)",
    )


class Held:
    """Something that a frame holds."""

    alive = 0

    def __init__(self):
        Held.alive += 1

    def __del__(self):
        Held.alive -= 1


def fail_with(cause):
    """An error whose frames, and whose cause's frames, hold something."""
    first = Held()
    assert first
    try:
        second = Held()
        assert second
        raise cause
    except ValueError as error:
        raise RequestError("outer") from error


@pytest.mark.parametrize("chained", [True, False])
def test_an_error_lets_go_of_its_frames(chained):
    """And of those of what led to it; its words stay."""
    try:
        fail_with(ValueError("inner") if chained else RequestError("outer"))
    except RequestError as caught:
        error = caught
    assert Held.alive == 2
    assert errors.without_frames(error) is error
    assert Held.alive == 0
    assert error.__traceback__ is None
    assert error.description == "outer"
    assert (error.__cause__ is not None) == chained

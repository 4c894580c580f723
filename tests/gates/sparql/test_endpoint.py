"""One path for queries and updates, by default /sparql; SEPA's engine can be set so, and so can the broker."""

from __future__ import annotations

import pytest
from support.sparql import QUERY, UPDATE, Sparql

pytestmark = pytest.mark.xdist_group("gates-endpoint")


@pytest.fixture(scope="module")
def same_path(broker_with):
    """A client of a broker that has both operations on one path."""
    with Sparql(broker_with("paths.query=/x", "paths.update=/x", "paths.subscribe=/y").http) as client:
        yield client


@pytest.fixture(scope="module", params=["/sparql", "/x"])
def post(request, sparql, same_path):
    """A POST to the path of both."""
    client = same_path.http if request.param == "/x" else sparql.http
    return lambda **options: client.post(request.param, **options)


def test_the_body_tells_what_is_meant(post):
    """By its media type, or by the form's parameter."""
    answers = [
        post(content="INSERT DATA { <s> <p> 1 }", headers={"Content-Type": UPDATE}),
        post(data={"update": "INSERT DATA { <s> <p> 2 }"}),
        post(content="ASK { <s> <p> 1, 2 }", headers={"Content-Type": QUERY}),
        post(data={"query": "ASK { <s> <p> 1, 2 }"}),
    ]

    assert [answer.status_code for answer in answers] == [200] * 4
    assert [answer.json().get("boolean") for answer in answers] == [None, None, True, True]


def test_both_at_once_are_refused(post):
    """Which should be carried out?"""
    response = post(data={"update": "DROP ALL", "query": "ASK {}"})

    assert response.status_code == 400
    assert "both query and update" in response.json()["error_description"]


def test_an_update_in_the_url_is_refused(post):
    """A link that is followed must change nothing (2.2)."""
    response = post(params={"update": "DROP ALL"})

    assert response.status_code == 400
    assert "an update is posted" in response.json()["error_description"]


def test_neither_is_refused(post):
    """With what is missing."""
    response = post(data={"sparql": "ASK {}"})

    assert response.status_code == 400
    assert "the parameter query is missing" in response.json()["error_description"]


def test_paths_are_settings(same_path):
    """What is not there any more says what is; the page and its URLs follow."""
    assert same_path.http.get("/x", params={"query": "ASK {}"}).json()["boolean"] is True
    gone = same_path.http.post("/query", data={"query": "ASK {}"})
    assert gone.status_code == 404
    assert "/x, /x, /sparql" in gone.json()["error_description"]
    assert "/y" in same_path.http.get("/").text

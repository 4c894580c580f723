"""The shipped profiles."""

from __future__ import annotations

import json
import tomllib

import pytest
from support.applications import CHAT, MONITORING

from triplewire.jsap import Profile, check


@pytest.mark.parametrize("path", [CHAT, MONITORING], ids=["chat", "monitoring"])
def test_a_shipped_profile_has_no_problems(path):
    """`triplewire jsap check` finds nothing to say."""
    assert check(path) == []


@pytest.mark.parametrize("path", [CHAT, MONITORING], ids=["chat", "monitoring"])
def test_a_shipped_profile_is_plain_json_for_any_client(path):
    """Nothing in it needs our own reader: SEPA's clients know JSON and these members only."""
    document = json.loads(path.read_text(encoding="utf-8"))
    assert {
        "host",
        "sparql11protocol",
        "sparql11seprotocol",
        "namespaces",
        "updates",
        "queries",
    } <= document.keys()


def test_the_chat_has_the_operations_of_the_paper():
    """Listing 16, and what registers users."""
    profile = Profile.load(CHAT)
    assert profile.updates.keys() >= {"SEND", "SET_RECEIVED", "REMOVE", "REGISTER_USER", "UNREGISTER_USER"}
    assert profile.queries.keys() >= {"SENT", "RECEIVED", "USERS"}


def test_the_monitoring_has_the_operations_of_the_paper():
    """Listing 18; storing goes to an endpoint of its own."""
    profile = Profile.load(MONITORING)
    assert profile.updates.keys() >= {"ADD_OBSERVATION", "UPDATE_VALUE", "STORE_OBSERVATION"}
    assert profile.queries.keys() >= {"TOPICS", "OBSERVATIONS_VALUES"}
    assert profile.update_url("STORE_OBSERVATION") == "http://localhost:7878/update"
    assert profile.update_url("UPDATE_VALUE") == "http://localhost:8000/update"


@pytest.mark.parametrize("path", [CHAT, MONITORING], ids=["chat", "monitoring"])
def test_a_shipped_profile_is_in_the_wheel(path):
    """Its folder is a package whose data it is."""
    project = tomllib.loads((path.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools, name = project["tool"]["setuptools"], f"triplewire.conf.{path.parent.name}"
    assert name in setuptools["packages"]
    assert "*.jsap" in setuptools["package-data"][name]

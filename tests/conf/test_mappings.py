"""Mappings out of a profile, and as the broker tells them."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode
from support.applications import MONITORING

from triplewire.broker.errors import ProfileError
from triplewire.conf.monitoring.mappings import Mapping, Topics, mappings
from triplewire.jsap import Profile

ENTRY = {"observation": "monitor:A", "unit": "unit:DegreeCelsius", "location": "monitor:Hall"}


def row(topic: str, observation: str) -> dict:
    return {"topic": Literal(topic), "observation": NamedNode(observation)}


def test_a_profiles_mappings_are_read():
    """In order, each with everything that ADD_OBSERVATION wants."""
    profile = Profile.load(MONITORING)
    found = mappings(profile.extended)
    assert len(found) == 7
    assert found[0].topic == "office/room-1/temperature"
    for mapping in found:
        assert "Observation" in profile.update("ADD_OBSERVATION", mapping.bindings()).sparql


def test_a_label_is_the_topic_where_there_is_none():
    """Rows of OBSERVATIONS_VALUES need one."""
    mapping = Mapping.of("a/b", ENTRY, "")
    assert (mapping.label, mapping.comment) == ("a/b", "")


@pytest.mark.parametrize("name", ["observation", "unit", "location"])
def test_a_missing_member_is_told_by_its_path(name):
    """Before any mapping is added."""
    entry = {key: value for key, value in ENTRY.items() if key != name}
    with pytest.raises(ProfileError) as caught:
        mappings({"semantic-mappings": {"x": ENTRY, "a/b": entry}})
    assert caught.value.path == f"extended.semantic-mappings.a/b.{name}"


def test_topics_come_and_go():
    """One may have several observations; a change adds the new one before the old one goes."""
    topics = Topics(Profile.load(MONITORING))
    topics.on_first_results([row("a", "urn:1"), row("b", "urn:2")])
    assert topics.observations("a") == (NamedNode("urn:1"),)
    topics.on_added([row("a", "urn:3")])
    assert set(topics.observations("a")) == {NamedNode("urn:1"), NamedNode("urn:3")}
    topics.on_removed([row("a", "urn:1"), row("b", "urn:2")])
    assert topics.observations("a") == (NamedNode("urn:3"),)
    assert topics.observations("b") == ()

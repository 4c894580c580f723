"""JSAP: a profile's updates and queries as forms."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect
from support.pages import opened

pytestmark = pytest.mark.xdist_group("browser")
PROFILE = {
    "host": "elsewhere.example.org",
    "namespaces": {"ex": "http://example.org/"},
    "updates": {
        "SET": {
            "sparql": "DELETE { ?room ex:temp ?old } INSERT { ?room ex:temp ?value ; ex:note ?note } "
            "WHERE { OPTIONAL { ?room ex:temp ?old } }",
            "forcedBindings": {
                "room": {"type": "uri", "value": "ex:kitchen"},
                "value": {"type": "literal", "datatype": "xsd:decimal", "value": "21.5"},
                "note": {"type": "literal", "language": "en", "value": ""},
            },
        }
    },
    "queries": {
        "OF": {
            "sparql": "SELECT ?room ?value ?note { ?room ex:temp ?value ; ex:note ?note }",
            "forcedBindings": {"room": {"type": "uri"}},
        }
    },
}


@pytest.fixture
def page(browser, broker):
    """On JSAP."""
    with opened(browser, broker.http, "jsap") as page:
        yield page


def give(page, text, name="home.jsap"):
    """Choose a file."""
    page.get_by_label("Profile (.jsap)").set_input_files(
        {"name": name, "mimeType": "application/json", "buffer": text.encode()}
    )


def test_forms_send_and_follow(page):
    """Defaults are filled in; what is typed is a term, whatever it is; the profile's host is passed over."""
    give(page, json.dumps(PROFILE))
    expect(page.locator("#profile")).to_have_text("home.jsap: 1 update, 1 query")
    query = page.get_by_role("form", name="Query OF")
    query.get_by_label("room", exact=True).fill("ex:kitchen")
    query.get_by_role("button", name="Follow").click()
    expect(page.locator("#jsap-state")).to_have_text("following")
    form = page.get_by_role("form", name="Update SET")
    expect(form.get_by_label("room")).to_have_value("ex:kitchen")
    form.get_by_label("note").fill('"warm" } ; DROP ALL #')
    form.get_by_role("button", name="Send").click()
    expect(form.locator("output")).to_have_text("Update done, 1 notifications")
    added = page.locator("#panel-jsap tr.added td")
    expect(added).to_have_text(["<http://example.org/kitchen>", "21.5", '"\\"warm\\" } ; DROP ALL #"@en'])
    query.get_by_role("button", name="Ask").click()
    expect(query.locator("output")).to_have_text("1 row")


def test_a_file_can_be_dropped(page):
    """As people do it."""
    page.locator(".drop").evaluate(
        """(node, text) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([text], "dropped.jsap"));
            node.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        json.dumps(PROFILE),
    )
    expect(page.locator("#profile")).to_have_text("dropped.jsap: 1 update, 1 query")


def test_what_is_wrong_is_told_with_its_place(page):
    """Of the file, and of a value."""
    give(page, "{")
    expect(page.locator("#profile.bad")).to_contain_text("this is not JSON")
    give(page, json.dumps({"queries": {"Q": {"sparql": 7}}}))
    expect(page.locator("#profile.bad")).to_have_text("queries.Q.sparql must be a text")
    give(page, json.dumps(PROFILE))
    query = page.get_by_role("form", name="Query OF")
    query.get_by_label("room", exact=True).fill("no IRI> ?x")
    query.get_by_role("button", name="Ask").click()
    expect(query.locator("output.bad")).to_have_text("no IRI> ?x is no IRI")


def test_a_query_takes_several_values_of_a_variable(page):
    """As many as there are fields; an update takes one."""
    profile = json.loads(json.dumps(PROFILE))
    profile["queries"]["OF"]["forcedBindings"]["room"]["value"] = ["ex:one", "ex:two"]
    give(page, json.dumps(profile))
    update = page.get_by_role("form", name="Update SET")
    expect(update.get_by_role("button", name="another value")).to_have_count(0)
    for room in ("one", "two", "three"):
        update.get_by_label("room").fill(f"ex:{room}")
        update.get_by_role("button", name="Send").click()
        expect(update.locator("output")).to_contain_text("Update done")
        update.locator("output").evaluate("node => { node.textContent = '' }")
    query = page.get_by_role("form", name="Query OF")
    expect(query.get_by_role("textbox")).to_have_count(2)
    query.get_by_role("button", name="Ask").click()
    expect(query.locator("output")).to_have_text("2 rows")
    query.get_by_role("button", name="room: another value").click()
    page.keyboard.type("ex:three")
    query.get_by_role("button", name="Ask").click()
    expect(query.locator("output")).to_have_text("3 rows")
    query.get_by_role("button", name="room: without this value").first.click()
    query.get_by_role("button", name="Ask").click()
    expect(query.locator("output")).to_have_text("2 rows")

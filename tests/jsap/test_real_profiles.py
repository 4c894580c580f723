"""The profiles of SEPA's applications: all of them load, and what can't work in them is told with its true reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from triplewire.jsap import Profile, check
from triplewire.jsap.check_entries import sample_values
from triplewire.jsap.syntax import query_fault, update_fault

FOLDER = Path(__file__).parents[2].parent / "shared" / "jsap"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.jsap"))

pytestmark = pytest.mark.skipif(
    not FILES, reason="the folder of outside test data is not beside this checkout"
)

WRONG = {
    "error: updates.WRONG.sparql, line 1, column 39: not SPARQL near '}} WHERE {GRAPH <http://sepate'",
    "error: queries.WRONG.sparql, line 1, column 45: not SPARQL near '\"ვაიმეე\"}}'",
}
INCLUDED_WRONG = {
    "error: updates.WRONG.sparql, line 1, column 38: not SPARQL near '} WHERE {?y ?z}'",
    "error: queries.WRONG.sparql, line 1, column 46: not SPARQL near '\"ვაიმეე\"}}'",
}
NO_HOST = "warning: host: missing; operations can't be sent anywhere"


def _sepa(*places):
    return {
        f"error: {place}, line 1, column {column}: the prefix sepa: is not declared"
        for place, column in places
    }


def _wrong_case(*places):
    meant = "XSD has no datatype DateTime; did you mean xsd:dateTime?"
    return {f"warning: {place}.datatype: {meant}" for place in places}


def _no_value(**updates):
    reason = "Variables are not allowed in INSERT DATA: no value for"
    return {f"error: updates.{name}.sparql: {reason} {names}" for name, names in updates.items()}


EXPECTED = {
    "chat.jsap": set(),
    "explorer.jsap": {
        NO_HOST,
        # SPARQL knows no existing blank node by its label, so an expression can't either.
        "error: updates.___DASHBOARD_UPDATE_LITERAL_BNODE.sparql, line 1, column 117: "
        "not SPARQL near '_:sample, ?s))}', a value of ?subject",
        "error: updates.___DASHBOARD_UPDATE_LITERAL_BNODE_DEFAULT.sparql, line 1, column 105: "
        "not SPARQL near '_:sample, ?s))}', a value of ?subject",
    },
    # Two of the three files of include/ are parts: they have neither host nor namespaces.
    "include/queries.jsap": {
        NO_HOST,
        *(wrong for wrong in INCLUDED_WRONG if "queries" in wrong),
        *_sepa(("queries.RANDOM.sparql", 43), ("queries.RANDOM1.sparql", 43)),
    },
    "include/sepatest.jsap": INCLUDED_WRONG,
    "include/updates.jsap": {
        NO_HOST,
        *(wrong for wrong in INCLUDED_WRONG if "updates" in wrong),
        *_sepa(("updates.VAIMEE.sparql", 33), ("updates.RANDOM.sparql", 33), ("updates.RANDOM1.sparql", 33)),
    },
    "irrigation.jsap": {
        *_no_value(
            ADD_METEO_LOCATION="?sensorId",
            SET_BULK_RECORD_COUNT="?count",
            uploadCriteriaSensorData="?date, ?sensorId",
            **{"https://tools.vaimee.com/updates#bridge": "?g, ?o, ?p, ?s"},
        ),
        *_wrong_case(
            "updates.UPDATE_UNIT_SENSOR_TIME.forcedBindings.time",
            "updates.UPDATE_UNIT_SENSOR_TYPE.forcedBindings.sensorType",
            "updates.uploadBulkHistory.forcedBindings.time",
            "updates.uploadCriteriaSensorData.forcedBindings.time",
            "updates.uploadForecast.forcedBindings.time",
            "updates.uploadForecast.forcedBindings.ptime",
            "updates.uploadHistory.forcedBindings.time",
            "queries.getCriteriaHistory.forcedBindings.time",
        ),
        "warning: updates.ADD_METEO_LOCATION.forcedBindings.time.value: '00:00' is not a value of xsd:dateTime",
        "warning: updates.SET_FLAG.forcedBindings.date.value: 'vaimee:Place' is not a value of xsd:date",
        "warning: updates.SET_BULK_FLAG.forcedBindings.meteo: ?meteo does not occur in the text",
        "warning: updates.uploadCriteriaSensorData.forcedBindings.time: ?time does not occur in the text",
        "error: queries.CROP.sparql, line 1, column 79: the prefix swamp2: is not declared; did you mean swamp?",
        "error: queries.CROP.sparql, line 1, column 102: the prefix agrovoc: is not declared",
        "error: queries.IRRIGATION_REQUESTS_BY_FIELD.sparql, line 1, column 132: the prefix swamp2: is not declared; "
        "did you mean swamp?",
    },
    "localhost.jsap": {"warning: there are no updates and no queries"},
    "notifications.jsap": set(),
    "qudt.org.jsap": set(),
    "sepatest-old.jsap": {"warning: updates_with: not a member that is read; did you mean updates?", *WRONG},
    "sepatest.jsap": WRONG,
    "wikidata.federation.jsap": set(),
}


def test_all_files_are_known():
    """Each has its expectation."""
    assert set(FILES) == set(EXPECTED)


@pytest.mark.parametrize("name", FILES)
def test_what_is_wrong_is_told(name):
    """Exactly that, and nothing else."""
    assert {str(problem) for problem in check(FOLDER / name)} == EXPECTED[name]


@pytest.mark.parametrize("name", FILES)
def test_all_others_are_sparql(name):
    """Bound with defaults, or samples where there is none, Oxigraph takes each text that `check` has nothing against."""
    profile = Profile.load(FOLDER / name)
    reported = {problem.path for problem in check(FOLDER / name) if problem.severity == "error"}
    for kind, bind, fault in (
        ("updates", profile.update, update_fault),
        ("queries", profile.query, query_fault),
    ):
        for entry in getattr(profile, kind).values():
            found = fault(bind(entry.id, sample_values(entry, profile.namespaces)).sparql)
            assert (found is not None) == (f"{entry.path}.sparql" in reported), (entry.id, found)


@pytest.mark.parametrize("name", FILES)
def test_urls_of_all_entries(name):
    """Where a host is known, every entry can be sent somewhere."""
    profile = Profile.load(FOLDER / name)
    if profile.host is not None:
        for query in profile.queries:
            assert profile.query_url(query).startswith(("http://", "https://"))
            assert profile.subscribe_url(query).startswith(("ws://", "wss://"))
        for update in profile.updates:
            assert profile.update_url(update).startswith(("http://", "https://"))


def test_the_chat_from_send_to_sent():
    """Values of the caller's, defaults, graphs and URLs of a real application."""
    chat = Profile.load(FOLDER / "chat.jsap")
    update = chat.update("SEND", text='"Ciao?" \\ ?text', sender="chat:Ann", receiver="chat:Bob")
    assert (
        r'schema:text "\"Ciao?\" \\ ?text" ; schema:sender <http://wot.arces.unibo.it/chat#Ann>'
        in update.sparql
    )
    assert update.using_graphs == ("http://wot.arces.unibo.it/chat",)
    assert chat.query("LOG_SENT").default_graphs == ("http://wot.arces.unibo.it/chat/log",)
    assert chat.subscribe_url("SENT") == "ws://localhost:9000/subscribe"


def test_included_files_of_file_uris():
    """file:///queries.jsap is the file beside the one that includes it."""
    profile = Profile.load(FOLDER / "include" / "sepatest.jsap")
    assert set(profile.queries) == {"WRONG", "VAIMEE", "ALL", "RANDOM", "RANDOM1", "COUNT"}
    assert len(profile.updates) == 5

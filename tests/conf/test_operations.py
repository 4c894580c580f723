"""What is given to operators: it is what Prometheus and Grafana take, and speaks of what a broker shows."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
import yaml
from support.following import caught_up
from support.promtool import needs_promtool, promtool
from support.running import RunningBroker
from support.subscriber import Subscriber

OPERATIONS = files("triplewire.conf.operations")
DASHBOARD = json.loads(OPERATIONS.joinpath("grafana.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load(OPERATIONS.joinpath("alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
RULES_TEST = Path(__file__).with_name("alerts_test.yml")
BOOK = (Path(__file__).parents[2] / "docs" / "howto" / "monitoring.md").read_text(encoding="utf-8")

PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SHOWN = [target["expr"] for panel in PANELS for target in panel["targets"]]
_NAME = re.compile(r"\b(?:triplewire|process|python)_[a-z_]+\b")
_ROW = re.compile(r"^\| `(Triplewire\w+)` \| (now|today) \| (.+) \|$", re.MULTILINE)
_LABEL = re.compile(r"\{[^}]*\}|\b(?:by|on) \([^)]*\)")


def metrics_of(expressions):
    return {name for text in expressions for name in _NAME.findall(_LABEL.sub("", text))}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The names of all samples of a leader and its follower, to which somebody has subscribed."""
    directory = tmp_path_factory.mktemp("data")
    leader = RunningBroker.start("--data", str(directory), memory=False)
    follower = RunningBroker.start("--follow", leader.http, memory=False)
    try:
        with Subscriber(leader.ws) as subscriber:
            subscriber.subscribe("SELECT * { ?s <a:b> ?o }")
            update = {"update": "INSERT DATA { <a:a> <a:b> 1 }"}
            httpx.post(f"{leader.http}/update", data=update).raise_for_status()
            caught_up(leader, follower)
            texts = [httpx.get(f"{broker.http}/metrics").text for broker in (leader, follower)]
    finally:
        follower.stop()
        leader.stop()
    return {
        line.split("{")[0].split(" ")[0] for text in texts for line in text.splitlines() if line[0] != "#"
    }


def test_a_broker_shows_all_that_the_rules_and_the_dashboard_speak_of(shown):
    """A misspelt metric would be an alert that never comes, or a panel that is empty."""
    asked = metrics_of([*(rule["expr"] for rule in RULES), *SHOWN])
    assert len(asked) > 50
    assert not asked - shown


def test_the_dashboard_leaves_little_out(shown):
    """Whoever adds a metric decides where it is to be seen."""
    left_out = {name for name in shown if name.startswith("triplewire_")} - metrics_of(SHOWN)
    left_out = {name for name in left_out if not name.endswith(("_count", "_sum"))}
    assert left_out == {
        "triplewire_build_info",
        "triplewire_uptime_seconds",
        "triplewire_units",
        "triplewire_core_busy_seconds",
        "triplewire_dataset_renewals_total",
        "triplewire_journal_sequence",
        "triplewire_journal_first_sequence",
        "triplewire_journal_segments",
        "triplewire_journal_records_total",
        "triplewire_journal_snapshots_total",
        "triplewire_following_sequence",
        "triplewire_following_leader_sequence",
        "triplewire_following_snapshots_total",
        "triplewire_following_connections_total",
        "triplewire_streams",
        "triplewire_stream_loops_total",
        "triplewire_stream_items_kept",
    }


def test_the_dashboard_is_one_that_grafana_takes():
    """Its data source is to be chosen, each panel has its own place, number and words."""
    assert DASHBOARD["schemaVersion"] >= 39
    variables = {each["name"]: each["type"] for each in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource": "datasource", "job": "query", "instance": "query"}
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    for panel in PANELS:
        assert panel["title"]
        assert panel["description"]
        for source in (panel["datasource"], *(target["datasource"] for target in panel["targets"])):
            assert source == {"type": "prometheus", "uid": "${datasource}"}
        for target in panel["targets"]:
            assert 'job=~"$job", instance=~"$instance"' in target["expr"]


@needs_promtool
def test_the_dashboards_questions_are_promql(tmp_path):
    """Each parses, when Grafana has put in what it is asked for."""
    rules = [
        {"record": f"panel:{number}", "expr": text.replace("$__rate_interval", "1m").replace("$", "")}
        for number, text in enumerate(SHOWN)
    ]
    path = tmp_path / "questions.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    status, said = promtool("check", "rules", str(path))
    assert (status, f"{len(rules)} rules found" in said) == (0, True), said


@needs_promtool
@pytest.mark.parametrize("what", [("rules", "alerts.yml"), ("config", "prometheus.yml")])
def test_prometheus_takes_them(what):
    """The rules, and the settings that name them."""
    kind, name = what
    status, said = promtool("check", kind, str(OPERATIONS.joinpath(name)))
    assert status == 0, said


@needs_promtool
def test_each_alert_is_raised_by_what_it_is_for():
    """And by nothing less: see alerts_test.yml."""
    status, said = promtool("test", "rules", str(RULES_TEST))
    assert (status, "SUCCESS" in said) == (0, True), said


def test_each_alert_is_tested_and_says_how_soon_to_look():
    """Raised, that is: one that is only expected not to be there proves nothing."""
    tested = {
        case["alertname"]
        for test in yaml.safe_load(RULES_TEST.read_text(encoding="utf-8"))["tests"]
        for case in test["alert_rule_test"]
        if case.get("exp_alerts")
    }
    assert {rule["alert"] for rule in RULES} == tested
    for rule in RULES:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]


def test_the_book_says_what_to_do_when_an_alert_is_raised():
    """All of them, in the order of the rules, and as soon as these say."""
    told = [(name, how_soon) for name, how_soon, _ in _ROW.findall(BOOK)]
    soon = {"page": "now", "ticket": "today"}
    assert told == [(rule["alert"], soon[rule["labels"]["severity"]]) for rule in RULES]
    for _, _, advice in _ROW.findall(BOOK):
        assert len(advice) > 40


def test_the_figures_of_the_book_are_a_brokers(shown):
    """Histograms by the name of the whole."""
    named = set(re.findall(r"`((?:triplewire|process)_[a-z_]+)`", BOOK))
    assert len(named) > 25
    assert not named - shown - {name.removesuffix("_bucket") for name in shown if name.endswith("_bucket")}

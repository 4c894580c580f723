"""The example of the documents: years of Seattle's weather into a running broker, told to a subscription, and asked for."""

from __future__ import annotations

import shlex
import threading

import pytest
from support.histories import QUICK, ROOT, documented, run
from support.running import RunningBroker

from triplewire.clients.sparql import SparqlClient
from triplewire.clients.subscriber import Subscriber

EXAMPLE = ROOT / "conf" / "historic"
DAYS = 1461
PREFIXES = "PREFIX sosa: <http://www.w3.org/ns/sosa/> PREFIX ex: <https://example.org/vocabulary#>"
HOT = f"""{PREFIXES} SELECT ?time ?value {{
  ?observation sosa:observedProperty ex:maximumTemperature ; sosa:resultTime ?time ; sosa:hasSimpleResult ?value
  FILTER (?value >= 33)
}}"""
COUNT = f"{PREFIXES} SELECT (COUNT(*) AS ?n) {{ ?o a sosa:Observation ; sosa:observedProperty ex:maximumTemperature }}"


def hot_days():
    """From the file, by hand."""
    lines = (EXAMPLE / "seattle-weather.csv").read_text().splitlines()[1:]
    return sum(float(line.split(",")[2]) >= 33 for line in lines)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_command_loads_the_example_and_a_subscription_hears_of_it(tmp_path):
    """The command is the documents'; the same again changes nothing."""
    heard, complete = [], threading.Event()
    triplewire, history, *command = shlex.split(documented("triplewire history load"))
    assert (triplewire, history) == ("triplewire", "history")
    expected = hot_days()
    assert expected > 3

    def told(rows):
        heard.extend(rows)
        if len(heard) >= expected:
            complete.set()

    broker = RunningBroker.start()
    try:
        with SparqlClient(broker.http) as client, Subscriber(broker.ws) as subscriber:
            subscriber.subscribe(HOT, on_added=told)
            (tmp_path / "conf").symlink_to(ROOT / "conf")
            done = run(tmp_path, *command, "--url", broker.http, "--master", "local[2]", *QUICK, timeout=500)
            assert done.returncode == 0, done.stderr
            assert complete.wait(10)
            assert len(heard) == expected
            assert int(client.select(COUNT)[0]["n"].value) == DAYS
            assert len(client.select(HOT)) == expected
    finally:
        broker.kill()

"""The present values for people."""

from __future__ import annotations

import io

from pyoxigraph import Literal, NamedNode
from support.applications import MONITORING, running, until
from support.monitoring import mapped

from triplewire.clients import AsyncProducer
from triplewire.conf.monitoring.values import Values
from triplewire.jsap import Profile


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


def row(observation: str, value: str, time: str = "2030-01-01T00:00:00Z") -> dict:
    return {
        "observation": NamedNode(f"http://example.org/monitoring#{observation}"),
        "location": NamedNode("http://example.org/monitoring#Hall"),
        "label": Literal("Temperature"),
        "value": Literal(value),
        "unit": NamedNode("http://qudt.org/1.1/vocab/unit#DegreeCelsius"),
        "time": Literal(time),
    }


async def test_each_value_is_a_line(profile_for):
    """Where the output is no terminal; the values of the moment come first."""
    profile, out = profile_for(), io.StringIO()
    await mapped(profile)
    async with AsyncProducer(profile, "UPDATE_VALUE") as update:
        observation = "monitor:plain-0"
        await update.update(observation=observation, value="20.5", time="2030-01-01T00:00:00.5Z")
        async with running(Values(profile, out).run()):
            await until(lambda: "\n" in out.getvalue())
            await update.update(observation=observation, value="21", time="2030-01-01T00:00:01Z")
            await until(lambda: out.getvalue().count("\n") == 2)
    assert out.getvalue().splitlines() == [
        "Hall\tSensor at plain/0\t20.5\tDegreeCelsius\t2030-01-01T00:00:00.5Z",
        "Hall\tSensor at plain/0\t21\tDegreeCelsius\t2030-01-01T00:00:01Z",
    ]


async def test_on_a_terminal_it_is_a_table_that_lives(profile_for):
    """One row for an observation, whose value changes in its place."""
    profile, out = profile_for(), Terminal()
    await mapped(profile)
    async with running(Values(profile, out).run()), AsyncProducer(profile, "UPDATE_VALUE") as update:
        await update.update(observation="monitor:plain-0", value="20.5", time="2030-01-01T00:00:00Z")
        await until(lambda: "20.5" in out.getvalue())
    assert "location" in out.getvalue()


def test_a_value_that_is_replaced_is_gone():
    """The new one is told before the old one goes; an observation that was removed leaves the table."""
    values = Values(Profile.load(MONITORING), Terminal())
    values.on_first_results([row("A", "1"), row("B", "2")])
    values.on_added([row("A", "3", "2030-01-01T00:00:01Z")])
    values.on_removed([row("A", "1")])
    assert [cells[2] for cells in values._rows.values()] == ["2", "3"]
    values.on_removed([row("B", "2")])
    assert values._table().row_count == 1

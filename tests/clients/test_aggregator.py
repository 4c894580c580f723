import asyncio

from triplewire.clients import Aggregator, AsyncAggregator

NINE = "INSERT DATA { <http://example.org/one> <http://example.org/value> 9 }"
ALARM = "ASK { <http://example.org/one> <http://example.org/alarm> 9 }"


def test_it_turns_events_into_others(fake, profile):
    """It updates from its own callbacks."""

    class Alarm(Aggregator):
        def on_added(self, rows):
            for row in rows:
                self.update(sensor=row["sensor"], value=row["value"])

    with Alarm(profile, "ALL", "ALARM") as aggregator:
        aggregator.subscribe()
        fake.update(NINE)

        fake.until(lambda: fake.store.query(ALARM))


async def test_it_does_the_same_under_asyncio(fake, profile):
    """With coroutine functions."""
    errors = []

    class Alarm(AsyncAggregator):
        async def on_added(self, rows):
            for row in rows:
                await self.update(sensor=row["sensor"], value=row["value"])

    async with Alarm(profile, "ALL", "ALARM", on_error=errors.append) as aggregator:
        await aggregator.subscribe()
        await asyncio.to_thread(fake.update, NINE)

        await asyncio.to_thread(fake.until, lambda: fake.store.query(ALARM))
    assert errors == []

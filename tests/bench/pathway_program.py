"""The stream of observations for Pathway: run by its own interpreter, prints one JSON object.

`python pathway_program.py QUERY HELD STREAMED SINGLE`: the same triples as ours, as rows of strings that need no
parsing.  HELD observations are there first; STREAMED ones come as fast as they can, committed as Pathway likes; then
SINGLE ones come one by one, each committed at once and waited for.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import time

import pathway as pw

QUERY, (HELD, STREAMED, SINGLE) = sys.argv[1], map(int, sys.argv[2:])
SENSORS, ROOMS = 1000, 100
AUTOCOMMIT_MS = 100
TYPE, SENSOR, RESULT, TIME, HOST = "type", "madeBySensor", "hasSimpleResult", "resultTime", "isHostedBy"


class Triple(pw.Schema):
    s: str
    p: str
    o: str


class Told:
    """Counts what comes out; a row that is replaced is told twice."""

    def __init__(self) -> None:
        self.added = 0
        self.wanted = 0
        self.reached = threading.Event()

    def add(self):
        self.added += 1
        if self.added >= self.wanted:
            self.reached.set()

    def expect(self, more):
        self.reached.clear()
        self.wanted = self.added + more

    def wait(self):
        if not self.reached.wait(600):
            raise TimeoutError(f"{self.added} of {self.wanted} rows")


class Observations(pw.io.python.ConnectorSubject):
    """Feeds, waits, and measures, on Pathway's thread for it."""

    def __init__(self, told):
        super().__init__()
        self.told = told
        self.measured = {}

    def observe(self, number):
        name = f"http://example.org/o{number}"
        self.next(s=name, p=TYPE, o="Observation")
        self.next(s=name, p=SENSOR, o=f"http://example.org/s{number % SENSORS}")
        self.next(s=name, p=RESULT, o=f"{number}.5")
        self.next(s=name, p=TIME, o="2026-01-01T00:00:00Z")

    def run(self):
        if QUERY == "room":
            for sensor in range(SENSORS):
                self.next(
                    s=f"http://example.org/s{sensor}", p=HOST, o=f"http://example.org/room{sensor % ROOMS}"
                )
        self.told.expect(HELD if QUERY != "average" else SENSORS)
        for number in range(HELD):
            self.observe(number)
        self.commit()
        self.told.wait()
        time.sleep(2 * AUTOCOMMIT_MS / 1000)
        busy = time.process_time()
        self.measured["streamed_s"] = self.stream()
        self.measured["streamed_cpu_s"] = time.process_time() - busy
        # All is told; what is still on its way of the averages must not be taken for what comes next.
        time.sleep(2 * AUTOCOMMIT_MS / 1000)
        busy = time.process_time()
        self.measured["single_s"] = [self.single(HELD + STREAMED + number) for number in range(SINGLE)]
        self.measured["single_cpu_s"] = time.process_time() - busy

    def stream(self):
        # Of averages several observations of one commit can be one row: the end is a sensor that there was not before.
        self.told.expect(STREAMED if QUERY != "average" else 10**12)
        began = time.perf_counter()
        for number in range(HELD, HELD + STREAMED):
            self.observe(number)
        if QUERY == "average":
            LAST.clear()
            name = LAST_SENSOR
            self.next(s=name, p=TYPE, o="Observation")
            self.next(s=name, p=SENSOR, o=name)
            self.next(s=name, p=RESULT, o="1.5")
            self.commit()
            LAST.wait(600)
        else:
            self.commit()
            self.told.wait()
        return time.perf_counter() - began

    def single(self, number):
        self.told.expect(1)
        began = time.perf_counter()
        self.observe(number)
        self.commit()
        self.told.wait()
        return time.perf_counter() - began


LAST, LAST_SENSOR = threading.Event(), "http://example.org/last"


def joined(triples):
    """The query as Pathway's own joins of filtered tables."""
    kinds = {p: triples.filter(triples.p == p) for p in (TYPE, SENSOR, RESULT, TIME, HOST)}
    kind = kinds[TYPE].filter(pw.this.o == "Observation")
    if QUERY == "room":
        first = kinds[SENSOR].join(kinds[RESULT], pw.left.s == pw.right.s)
        first = first.select(s=pw.left.s, sensor=pw.left.o, v=pw.right.o)
        second = first.join(kinds[TIME], pw.left.s == pw.right.s)
        second = second.select(s=pw.left.s, sensor=pw.left.sensor, v=pw.left.v, t=pw.right.o)
        third = second.join(kinds[HOST], pw.left.sensor == pw.right.s)
        return third.select(s=pw.left.s, v=pw.left.v, t=pw.left.t, room=pw.right.o)
    first = kind.join(kinds[SENSOR], pw.left.s == pw.right.s).select(s=pw.left.s, sensor=pw.right.o)
    second = first.join(kinds[RESULT], pw.left.s == pw.right.s)
    second = second.select(s=pw.left.s, sensor=pw.left.sensor, v=pw.right.o)
    if QUERY == "average":
        values = second.select(pw.this.sensor, v=pw.this.v.str.parse_float())
        return values.groupby(pw.this.sensor).reduce(pw.this.sensor, mean=pw.reducers.avg(pw.this.v))
    third = second.join(kinds[TIME], pw.left.s == pw.right.s)
    return third.select(s=pw.left.s, sensor=pw.left.sensor, v=pw.left.v, t=pw.right.o)


def main():
    told = Told()

    def on_change(key, row, time, is_addition):
        if is_addition:
            told.add()
            if QUERY == "average" and row["sensor"] == LAST_SENSOR:
                LAST.set()

    subject = Observations(told)
    triples = pw.io.python.read(subject, schema=Triple, autocommit_duration_ms=AUTOCOMMIT_MS)
    pw.io.subscribe(joined(triples), on_change=on_change)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(subject.measured | {"peak_mb": peak_mb}))


main()

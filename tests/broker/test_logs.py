"""The log as text and as JSON."""

from __future__ import annotations

import json
import logging
from contextvars import copy_context

import httpx
import pytest
from support.running import RunningBroker

from triplewire.broker.logs import JsonLines
from triplewire.broker.tracing import COURSE, Course


def line(message, *arguments, exc_info=None):
    record = logging.LogRecord("triplewire.x", logging.WARNING, __file__, 1, message, arguments, exc_info)
    record.created = 1_700_000_000.25
    text = JsonLines().format(record)
    assert "\n" not in text
    return json.loads(text)


def test_one_object_a_line():
    """Whatever is in the message."""
    assert line("! %s\nand %d", 'a"b\u2028', 2) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "WARNING",
        "logger": "triplewire.x",
        "message": '! a"b\u2028\nand 2',
    }
    assert line("\udc80")["message"] == "\udc80"


def test_an_exception_is_in_it():
    """With its traceback, on the same line."""
    try:
        int("wrong")
    except ValueError as error:
        said = line("!", exc_info=(type(error), error, error.__traceback__))
    assert said["exception"].startswith("Traceback")
    assert said["exception"].endswith("ValueError: invalid literal for int() with base 10: 'wrong'")


def test_it_names_the_trace_that_it_is_of():
    """So that one leads to the other."""

    def within():
        COURSE.set(Course(1, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        return line("update ok")

    assert copy_context().run(within)["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_broker_that_logs_json(workers):
    """Each line is an object, those of stream workers as well."""
    settings = ("--set", "log.format=json", "--set", "log.level=DEBUG", "--set", f"stream.workers={workers}")
    broker = RunningBroker.start(*settings)
    try:
        update = {"update": "INSERT DATA { <a:a> <a:b> 1 }"}
        httpx.post(f"{broker.http}/update", data=update).raise_for_status()
        lines = [json.loads(each) for each in broker.log.splitlines()]
    finally:
        broker.stop()
    assert any(each["message"].startswith("update ok") for each in lines)
    assert all(each["time"].endswith("Z") for each in lines)


def test_text_is_as_it_was():
    """Time, level, logger and message."""
    broker = RunningBroker.start()
    try:
        httpx.post(
            f"{broker.http}/update", data={"update": "INSERT DATA { <a:a> <a:b> 1 }"}
        ).raise_for_status()
        said = broker.log
    finally:
        broker.stop()
    assert " INFO triplewire.gates.sparql update ok " in said

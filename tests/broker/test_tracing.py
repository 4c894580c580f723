"""The course of a write."""

from __future__ import annotations

from contextvars import copy_context

from triplewire.broker.tracing import COURSE, Course, parent_headers

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_steps_follow_one_another():
    """Each begins where the last one ended, but for what was no step."""
    course = Course(10)
    course.done("first", quads=3)
    course.done("second")
    course.go_on()
    course.done("third")
    first, second, third = course.steps
    assert [step.name for step in course.steps] == ["first", "second", "third"]
    assert first.attributes == {"quads": 3}
    assert first.began_ns <= first.ended_ns == second.began_ns <= second.ended_ns <= third.began_ns


def test_there_is_an_end_to_them():
    """The rest is counted."""
    course = Course(2)
    for _ in range(5):
        course.done("notification")
    assert (len(course.steps), course.left_out) == (2, 3)


def test_a_clock_that_is_set_back_makes_no_step_of_less_than_nothing(monkeypatch):
    """OpenTelemetry's spans must not end before they begin."""
    times = iter([1000, 400, 500])
    monkeypatch.setattr("triplewire.broker.tracing.time.time_ns", lambda: next(times))
    course = Course(10)
    course.done("back")
    course.done("on")
    assert [(step.began_ns, step.ended_ns) for step in course.steps] == [(400, 400), (400, 500)]


def test_another_broker_is_told_of_the_present_trace():
    """And of none where there is none."""
    assert parent_headers() == {}

    def within():
        COURSE.set(Course(10, PARENT))
        return parent_headers(), COURSE.get().trace_id

    assert copy_context().run(within) == ({"traceparent": PARENT}, "4bf92f3577b34da6a3ce929d0e0e4736")
    assert Course(10).trace_id == ""

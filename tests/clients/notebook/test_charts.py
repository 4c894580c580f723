import io
import threading
import time

import pytest
from PIL import Image

from triplewire.clients import ClientSettings
from triplewire.clients.notebook import Live, chart

QUICK = ClientSettings(timeout_s=5, backoff_first_s=0.01, backoff_longest_s=0.05)
SELECT = "SELECT ?room ?t { ?room <urn:t> ?t }"


def insert(room, value):
    return f"INSERT DATA {{ <urn:{room}> <urn:t> {value} }}"


@pytest.fixture
def live(fake):
    with Live(fake.ws, SELECT, settings=QUICK) as live:
        yield live


def until(condition):
    waiting = threading.Event()
    for _ in range(500):
        if condition():
            return
        waiting.wait(0.01)
    raise AssertionError("it did not come about within 5 s")


def bars(made):
    with made._drawing:
        return len(made._figure.axes[0].patches)


def lines(figure):
    return {line.get_label(): line.get_ydata().tolist() for line in figure.axes[0].lines}


def test_rows_over_the_moment_when_they_came(fake, live):
    """Without x; a line for each value of `by`."""
    made = chart(live, y="t", by="room")
    fake.update(insert("a", 1))
    fake.update(insert("b", 2))
    fake.update("DELETE DATA { <urn:a> <urn:t> 1 } ; INSERT DATA { <urn:a> <urn:t> 3 }")
    live.wait(3, timeout_s=5)

    assert lines(made.draw()) == {"a": [1, 3], "b": [2]}


def test_a_file_is_kept_current(fake, live, tmp_path):
    """Until the live query is closed; the last change is drawn, too."""
    path = tmp_path / "chart.png"
    made = chart(live, y="t", to=path, every_s=0.05, size=(2, 1))
    first = path.read_bytes()
    assert Image.open(io.BytesIO(first)).size == (200, 100)

    fake.update(insert("a", 1))
    until(lambda: path.read_bytes() != first)
    live.close()
    until(lambda: not made._thread.is_alive())
    assert repr(made) == "<Chart of t: stopped>"


def test_many_changes_are_one_picture(fake, live, tmp_path):
    """At most one in `every_s`, and the last of all changes is in the last."""
    began = time.monotonic()
    made = chart(live, x="room", y="t", to=tmp_path / "chart.png", every_s=0.3)
    for number in range(50):
        fake.update(insert(f"room{number}", number))
    live.wait(50, timeout_s=10)
    until(lambda: bars(made) == 50)
    made.stop()

    assert made.drawn <= 2 + (time.monotonic() - began) / 0.3


def test_it_stops(fake, live, tmp_path):
    """While the live query goes on."""
    with chart(live, y="t", to=tmp_path / "chart.png", every_s=0.01) as made:
        pass
    drawn = made.drawn
    fake.update(insert("a", 1))
    live.wait(timeout_s=5)

    assert not made._thread.is_alive()
    assert made.drawn == drawn


def test_rows_that_can_not_be_drawn_are_named(fake, live):
    """In the picture, as they may go again."""
    made = chart(live, x="room", y="t")
    fake.update(insert("a", '"hot"'))
    live.wait(timeout_s=5)
    assert made.draw().texts[0].get_text() == "t is not a number everywhere: 'hot'"

    fake.update('DELETE DATA { <urn:a> <urn:t> "hot" } ; INSERT DATA { <urn:a> <urn:t> 1 }')
    live.wait(timeout_s=5)
    assert [bar.get_height() for bar in made.draw().axes[0].patches] == [1]


def test_the_picture_says_that_it_is_old(fake, live):
    """While the connection is lost."""
    made = chart(live, y="t")
    fake.stop()
    until(lambda: not live.connected)

    assert made.draw().get_supxlabel() == "the connection is lost, and tried again"
    fake.start()


def test_mistakes_are_told_at_once(fake, live):
    """Not in a thread later."""
    for mistake in ({"y": "w"}, {"y": "t", "x": "w"}, {"y": "t", "by": "w"}):
        with pytest.raises(ValueError, match="w: not a variable"):
            chart(live, **mistake)
    for mistake in ({"y": ()}, {"y": "t", "points": 0}, {"y": "t", "every_s": 0}):
        with pytest.raises(ValueError, match="at least"):
            chart(live, **mistake)
    with pytest.raises(FileNotFoundError):
        chart(live, y="t", to="/absent/chart.png")
    fake.update(insert("a", '"hot"'))
    live.wait(timeout_s=5)
    with pytest.raises(ValueError, match="'hot'"):
        chart(live, y="t")


def test_a_plain_script_saves_it(live, tmp_path):
    """In the format of the ending."""
    made = chart(live, y="t", title="Rooms")
    made.save(tmp_path / "chart.svg")

    assert b"<svg" in (tmp_path / "chart.svg").read_bytes()
    assert made._thread is None

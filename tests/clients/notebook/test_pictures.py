import io

import numpy as np
import pytest
from PIL import Image

from triplewire.clients.notebook.pictures import draw, new_figure, png, say, shortened
from triplewire.clients.notebook.series import SERIES, Series


def series(name="t", x=(1.0, 2.0), y=(3.0, 4.0), dtype=float):
    return Series(name, np.array(x, dtype=dtype), np.array(y, dtype=float))


def drawn(*made, note=""):
    figure = new_figure((4, 3))
    draw(figure, made, ("x", "y"), "title", note)
    (axes,) = figure.axes
    return figure, axes


def test_lines_of_numbers():
    """With their names where there are several."""
    _, axes = drawn(series("a"), series("b", y=(5.0, 6.0)))

    assert [line.get_ydata().tolist() for line in axes.lines] == [[3, 4], [5, 6]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("title", "x", "y")
    assert drawn(series("y"))[1].get_legend() is None, "the axis has that name already"
    assert drawn(series("a"))[1].get_legend() is not None


def test_lines_of_moments():
    """A day is a day apart."""
    figure, axes = drawn(series(x=("2026-05-04", "2026-05-05"), dtype="datetime64[us]"))
    png(figure)

    (line,) = axes.lines
    first, last = axes.convert_xunits(line.get_xdata())
    assert last - first == 1
    assert axes.xaxis.get_offset_text().get_text().startswith("2026-May")


def test_bars_of_texts():
    """A place for each text; the bars of two series stand beside each other."""
    a = series("a", x=("hall", "attic"), dtype=object)
    _, axes = drawn(a, series("b", x=("attic",), y=(1.0,), dtype=object))

    assert [label.get_text() for label in axes.get_xticklabels()] == ["hall", "attic"]
    assert [bar.get_height() for bar in axes.patches] == [3, 4, 1]
    assert axes.patches[1].get_x() + axes.patches[1].get_width() <= axes.patches[2].get_x() + 1e-9


def test_what_is_not_shown_is_said():
    """As is how things stand."""
    figure, axes = drawn(*(series(str(number)) for number in range(SERIES + 2)), note="old")

    assert len(axes.lines) == SERIES
    assert figure.get_supxlabel() == "old; 2 more series are not shown"


def test_nothing_to_show():
    """It says so."""
    _, axes = drawn(series(x=(), y=()))

    assert [text.get_text() for text in axes.texts] == ["no points yet"]


def test_the_picture_has_its_size_and_is_replaced():
    """A PNG of as many inches."""
    figure, _ = drawn(series())
    assert Image.open(io.BytesIO(png(figure))).size == (400, 300)

    say(figure, "no number")
    assert figure.axes == []
    assert figure.texts[0].get_text() == "no number"


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["http://x/a", "http://x/b"], ["a", "b"]),
        (["http://x/y#aa", "http://x/y#ab"], ["aa", "ab"]),
        (["urn:room:hall"], ["hall"]),
        (["http://x/a", "urn:b"], ["http://x/a", "urn:b"]),
        (["http://x/", "http://x/b"], ["http://x/", "http://x/b"]),
        (["http://x/a", "http"], ["http://x/a", "http"]),
        (["12:01", "12:02"], ["12:01", "12:02"]),
        (["a: b", "a: c"], ["a: b", "a: c"]),
        (["t"], ["t"]),
        ([], []),
    ],
)
def test_iris_lose_what_they_have_in_common(names, short):
    """They stay apart, and other texts stay as they are."""
    assert shortened(names) == short
    assert len(set(short)) == len(set(names))


def test_iris_are_shown_short():
    """In the legend, and under bars."""
    _, lines = drawn(series("urn:a"), series("urn:b"))
    assert [text.get_text() for text in lines.get_legend().get_texts()] == ["a", "b"]

    _, bars = drawn(series(x=("urn:hall", "urn:attic"), dtype=object))
    assert [label.get_text() for label in bars.get_xticklabels()] == ["hall", "attic"]

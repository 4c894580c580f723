import numpy as np
import pandas as pd
import pytest

from triplewire.clients.notebook.series import Choice

DATA = pd.DataFrame(
    {
        "room": pd.array(["hall", "attic", "hall", None], dtype="string"),
        "at": pd.to_datetime(
            ["2026-05-04T12:02Z", "2026-05-04T12:01Z", "2026-05-04T12:00Z", "2026-05-04T12:03Z"]
        ),
        "t": pd.array([3, None, 1, 4], dtype="Int64"),
        "u": pd.array([0.5, 1.5, 2.5, 3.5], dtype="Float64"),
    }
)


def test_points_are_in_the_order_of_x():
    """Without those that have no y; moments are UTC."""
    (one,) = Choice("at", ("t",)).series(DATA)

    assert one.name == "t"
    assert one.y.tolist() == [1, 3, 4]
    assert one.x.astype("datetime64[m]").astype(str).tolist() == [f"2026-05-04T12:0{n}" for n in (0, 2, 3)]


def test_a_series_for_each_value():
    """In order; rows without that value are in none."""
    made = Choice("at", ("u",), by="room").series(DATA)

    assert [(one.name, one.y.tolist()) for one in made] == [("attic", [1.5]), ("hall", [2.5, 0.5])]
    names = [one.name for one in Choice("at", ("t", "u"), by="room").series(DATA)]
    assert names == ["attic t", "attic u", "hall t", "hall u"]


def test_the_last_points_are_shown():
    """Of each series."""
    (one,) = Choice("at", ("u",), points=2).series(DATA)

    assert one.y.tolist() == [0.5, 3.5]


def test_texts_keep_their_order():
    """They are the places of bars."""
    (one,) = Choice("room", ("u",)).series(DATA)

    assert one.x.tolist() == ["hall", "attic", "hall"]
    assert one.x.dtype == object


def test_numbers_that_are_kept_exactly_can_be_drawn():
    """As doubles: a picture has no more digits."""
    data = pd.DataFrame(
        {"x": np.array([2**70, 1], dtype=object), "y": np.array([pd.NA, 2**64], dtype=object)}
    )
    (one,) = Choice("x", ("y",)).series(data)

    assert (one.x.tolist(), one.y.tolist()) == ([1.0], [2.0**64])


@pytest.mark.parametrize("choice", [Choice("at", ("w",)), Choice("w", ("t",)), Choice("at", ("t",), by="w")])
def test_unknown_variables_are_named(choice):
    """With those that there are."""
    with pytest.raises(ValueError, match="w: not a variable of the query; there are room, at, t, u"):
        choice.check(DATA)


def test_text_is_no_y():
    """It says which text."""
    with pytest.raises(ValueError, match="room is not a number everywhere: 'hall'"):
        Choice("at", ("room",)).check(DATA)

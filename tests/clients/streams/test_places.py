"""In which order it is tried where, and what trackers are told."""

from triplewire.clients.flows import Reply
from triplewire.clients.streams.places import Places
from triplewire.clients.streams.settings import StreamSettings

TRACKER = "http://tracker/consume/events/compressed"
OTHER = "http://other/consume/events/compressed"
PLAIN = "http://plain/events/compressed"
RELAY = "http://relay:8002/events/compressed"


def places(*urls, relay=None, **settings):
    return Places(urls, StreamSettings(**settings), relay)


def sent_on(of, location=RELAY, **headers):
    trail = next(of.trails())
    trail.follow(Reply(307, {"location": location, **headers}), ())
    return trail


def urls(of):
    return [trail.url for trail in of.trails()]


def test_the_first_comes_first_and_then_the_relay_that_we_had():
    """Before the others; each once."""
    of = places(TRACKER, OTHER, TRACKER, PLAIN)
    assert urls(of) == [TRACKER, OTHER, PLAIN]
    of.reached(sent_on(of))
    assert of.relay == RELAY
    assert urls(of) == [TRACKER, RELAY, OTHER, PLAIN]
    of.reached(sent_on(of, PLAIN))
    assert urls(of) == [TRACKER, OTHER, PLAIN]


def test_the_relay_that_we_had_gets_the_token_as_it_did():
    """And not more than that."""
    of = places(TRACKER)
    of.reached(sent_on(of))
    assert [trail.shares_token for trail in of.trails()] == [True, True]
    of = places(PLAIN)
    of.reached(sent_on(of))
    assert [trail.shares_token for trail in of.trails()] == [True, False]


def test_a_tracker_is_told_where_we_are_and_what_failed():
    """By the relay's name, where it said one; until another one is reached."""
    of = places(TRACKER, PLAIN, region="eu")
    first, plain = of.trails()
    assert (of.wishes(first), of.wishes(plain)) == ((("region", "eu"),), ())
    of.reached(sent_on(of, **{"triplewire-node": "r1"}))
    of.lost()
    assert of.wishes(first) == (("region", "eu"), ("avoid", "r1"))
    of.failed(sent_on(of, "https://two/streams/events/compressed?a=b"))
    assert of.wishes(first)[1:] == (("avoid", "r1"), ("avoid", "https://two/streams"))
    for number in range(100):
        of.failed(sent_on(of, **{"triplewire-node": f"n{number}"}))
    assert [value for _, value in of.wishes(first)[1:]] == [f"n{number}" for number in range(92, 100)]
    of.reached(sent_on(of, "http://three/events/compressed"))
    assert of.wishes(first) == (("region", "eu"),)


def test_none_is_avoided():
    """When all that are known have failed once."""
    of = places(TRACKER)
    of.failed(sent_on(of))
    of.avoid_none()
    assert of.wishes(next(of.trails())) == ()


def test_whether_a_tracker_named_the_relay():
    """One that a user gave, or to which some server sent us, has no others beside it."""
    of = places(TRACKER, PLAIN)
    assert not of.is_named
    of.reached(sent_on(of))
    assert not of.is_named
    of.reached(sent_on(of, **{"triplewire-node": "r1"}))
    assert of.is_named
    of.reached([*of.trails()][1])
    assert of.is_named, "it is the one that we had"
    of.reached([*of.trails()][2])
    assert not of.is_named


def test_a_place_that_the_user_named_is_not_avoided():
    """There is nobody to be told."""
    of = places(PLAIN, TRACKER)
    plain, tracker = of.trails()
    of.reached(plain)
    of.lost()
    of.failed(plain)
    assert of.wishes(tracker) == ()


def test_whether_there_are_several():
    """By what was given, by what happened, and by what a process before this one had."""
    assert not places(PLAIN).are_several
    assert not places(PLAIN, relay=PLAIN).are_several
    assert places(PLAIN, OTHER).are_several
    assert places(PLAIN, relay=RELAY).are_several
    of = places(TRACKER)
    assert not of.are_several
    of.reached(sent_on(of))
    assert of.are_several


def test_trackers_and_their_relays_answer_at_once():
    """Other servers may wait for an item."""
    of = places(TRACKER, PLAIN, tracker_s=3.0)
    of.reached(sent_on(of))
    assert [of.patience_s(trail) for trail in of.trails()] == [3.0, 3.0, None]

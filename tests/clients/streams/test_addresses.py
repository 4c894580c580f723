import pytest

from triplewire.clients.streams.addresses import followed_url, is_at_tracker, published_url

BASE = "http://h:1/events"


@pytest.mark.parametrize(
    ("given", "read", "written"),
    [
        (BASE, f"{BASE}/compressed", f"{BASE}/publish"),
        (f"{BASE}/", f"{BASE}/compressed", f"{BASE}/publish"),
        (f"{BASE}/stream", f"{BASE}/stream", f"{BASE}/publish"),
        (f"{BASE}/priority", f"{BASE}/priority", f"{BASE}/publish"),
        (f"{BASE}/publish", f"{BASE}/compressed", f"{BASE}/publish"),
        (f"{BASE}/long-polling", f"{BASE}/compressed", f"{BASE}/publish"),
        (f"{BASE}/stream?source=a", f"{BASE}/stream?source=a", f"{BASE}/publish?source=a"),
        ("https://h/stream", "https://h/stream/compressed", "https://h/stream/publish"),
        ("http://h/a/b", "http://h/a/b/compressed", "http://h/a/b/publish"),
        ("http://t/consume/events", "http://t/consume/events/compressed", "http://t/consume/events/publish"),
    ],
)
def test_any_url_of_a_stream_leads_to_the_others(given, read, written):
    """One that can be followed is taken as it is; a single segment is a stream's name, whatever it is."""
    assert followed_url(given) == read
    assert published_url(given) == written


def test_which_access_is_meant_can_be_said():
    """Where the URL does not say it."""
    assert followed_url(BASE, "priority") == f"{BASE}/priority"
    assert followed_url(f"{BASE}/stream", "priority") == f"{BASE}/stream"
    assert published_url(BASE, "publish-cont") == f"{BASE}/publish-cont"


@pytest.mark.parametrize(
    "url", ["http://h", "http://h/", "ws://h/events", "/events", "events", "http:///events"]
)
def test_what_is_no_stream_is_refused(url):
    """With an example of one."""
    with pytest.raises(ValueError, match="like http://localhost:8001/events"):
        followed_url(url)
    with pytest.raises(ValueError, match="like http"):
        published_url(url)


@pytest.mark.parametrize(
    ("path", "tracker"),
    [
        ("/consume/events/compressed", True),
        ("/consume/events/priority?a=b", True),
        ("/behind/a/proxy/consume/events/stream", True),
        ("/consume/events", False),
        ("/consume/compressed", False),
        ("/events/compressed", False),
        ("/consume/events/publish", False),
        ("/not-consume/events/compressed", False),
        ("/consume/events/compressed/more", False),
        ("/events/compressed?x=/consume/events/compressed", False),
    ],
)
def test_a_tracker_is_known_by_its_path(path, tracker):
    """A stream may be called `consume`."""
    assert is_at_tracker(f"https://h:1{path}") is tracker

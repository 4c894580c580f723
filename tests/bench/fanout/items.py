"""What is published: microblog posts in Turtle, seeded, as an item that bears its number and the time of its sending.

The paper that the experiments are of sent 25,749 posts of 881 bytes on average, which its compression took to 15 %. Those
are no longer to be had. These are alike in what matters: 880 bytes on average, the same few properties in each, and text
of people's words, of which some come often and most come seldom, with names, numbers and short links that never come again.
400 of them at 4/s, together with what comes within half a second, come to 14.9 % with zlib's level 6.
"""

from __future__ import annotations

import random
import re
import time
from itertools import accumulate

# The mark of an item: when it was sent, in seconds since 1970, and its number; those before 1 are for warming up.
# The semicolon at its end tells that no digit is still to come.
MARK = re.compile(rb"X-Publish-Time: (\d+\.\d+);seq=(-?\d+);")
MARK_BYTES = 64  # none is longer

_SYLLABLES = [each + vowel for each in "bcdfghklmnprstvw" for vowel in "aeiou"][::3]
_PLACES = [
    ("52.392", "4.899"),
    ("40.332", "-3.765"),
    ("13.018", "77.568"),
    ("48.857", "2.352"),
    ("59.329", "18.068"),
]
_LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789"
_WORDS = 250
_MEAN_BYTES = 880

_POST = """@prefix dc: <http://purl.org/dc/elements/1.1/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix geo: <http://www.w3.org/2003/01/geo/wgs84_pos#> .
@prefix blog: <http://example.org/microblog/ns#> .

<http://example.org/notice/{notice}> dc:creator <http://example.org/user/{user}>;
    dc:date "2012-10-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00";
    blog:content "{text} http://is.gd/{link}";
{tags}    blog:conversation <http://example.org/conversation/{conversation}>;
    blog:location [ a geo:Place; geo:lat "{lat}"; geo:long "{long}" ] .
<http://example.org/user/{user}> foaf:name "{first} {last}";
    foaf:based_near [ a geo:Place; geo:lat "{home_lat}"; geo:long "{home_long}" ] .
"""


class Posts:
    """An endless row of posts, the same for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        words = random.Random(0)  # one language for all seeds
        self._words = ["".join(words.choices(_SYLLABLES, k=words.randint(1, 3))) for _ in range(_WORDS)]
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(_WORDS)))  # Zipf's law

    def post(self) -> bytes:
        """The next one."""
        pick = self._random
        lat, long = pick.choice(_PLACES)
        home_lat, home_long = pick.choice(_PLACES)
        tags = self._some(pick.randrange(3))
        known = {
            "lat": lat,
            "long": long,
            "home_lat": home_lat,
            "home_long": home_long,
            "first": self._some(1)[0].title(),
            "last": self._some(1)[0].title(),
            "notice": pick.randrange(97_000_000, 98_000_000),
            "user": pick.randrange(1, 300_000),
            "conversation": pick.randrange(96_000_000, 97_000_000),
            "day": pick.randrange(1, 29),
            "hour": pick.randrange(24),
            "minute": pick.randrange(60),
            "second": pick.randrange(60),
            "link": "".join(pick.choices(_LETTERS, k=6)),
            "tags": "".join(f'    blog:hashtag "{tag}";\n' for tag in tags),
        }
        text = " ".join(self._some(pick.randrange(8, 24)))
        bare = len(_POST.format(text=text, **known))
        missing = pick.gauss(_MEAN_BYTES - bare, 30)
        while missing > 0:
            word = self._some(1)[0]
            text, missing = f"{text} {word}", missing - len(word) - 1
        return _POST.format(text=text, **known).encode()

    def _some(self, count: int) -> list[str]:
        return self._random.choices(self._words, cum_weights=self._weights, k=count)


def item(number: int, run: str, body: bytes, sent: float | None = None) -> bytes:
    """The item as it is published, to each peer the same bytes; `sent` is now where it is not given."""
    sent = time.time() if sent is None else sent
    return (
        f"Event-Id: {run}-{number}\r\nSource-Id: {run}\r\nSyntax: text/turtle\r\nApplication-Id: fanout\r\n"
        f"Timestamp: {time.strftime('%Y-%m-%dT%H:%M:%S+00:00', time.gmtime(sent))}\r\n"
        f"X-Publish-Time: {sent:.6f};seq={number};\r\nBody-Length: {len(body)}\r\n\r\n"
    ).encode() + body

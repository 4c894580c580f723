"""The page's files on the wire."""

from __future__ import annotations

import gzip
import re
from importlib.resources import files

import pytest

from triplewire.gates.web.assets import assets, matches

pytestmark = pytest.mark.xdist_group("gates-http")
BASE = assets().base


def test_the_address_changes_with_the_bytes_and_may_be_kept_for_ever(sparql):
    """A year, without asking again; who asks all the same is answered without a body."""
    answer = sparql.http.get(f"{BASE}/app.js", headers={"Accept-Encoding": "identity"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    again = sparql.http.get(
        f"{BASE}/app.js", headers={"Accept-Encoding": "identity", "If-None-Match": answer.headers["etag"]}
    )
    assert again.status_code == 304
    assert not again.content


def test_what_takes_gzip_gets_it(sparql):
    """The same bytes under another tag."""
    path = f"{BASE}/vendor/codemirror.js"
    plain = sparql.http.get(path, headers={"Accept-Encoding": "identity"})
    with sparql.http.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as packed:
        raw = b"".join(packed.iter_raw())
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["etag"] != plain.headers["etag"]
    assert gzip.decompress(raw) == plain.content
    assert len(raw) < len(plain.content) / 2


def test_each_file_of_the_page_is_served_and_nothing_else(sparql):
    """Not what the vendored file is built from, and nothing under the hash of another version."""
    for path in assets().by_path:
        assert sparql.http.head(path).status_code == 200, path
    for path in (
        f"{BASE}/vendor/build.mjs",
        f"{BASE}/vendor/package.json",
        "/page/0000/app.js",
        f"{BASE}/../assets.py",
    ):
        assert sparql.http.get(path).status_code == 404, path


def test_what_a_module_imports_is_there():
    """By relative paths only, so that modules of two versions never meet."""
    folder = files("triplewire.gates.web") / "page"
    for path in assets().by_path:
        name = path.removeprefix(f"{BASE}/")
        if name.endswith(".js") and not name.startswith("vendor/"):
            text = folder.joinpath(name).read_text(encoding="utf-8")
            for wanted in re.findall(r'from "([^"]+)"', text):
                assert wanted.startswith("./"), (name, wanted)
                assert f"{BASE}/{wanted.removeprefix('./')}" in assets().by_path, (name, wanted)


def test_modules_are_short():
    """One noun each."""
    folder = files("triplewire.gates.web") / "page"
    for entry in folder.iterdir():
        if entry.is_file():
            assert entry.read_text(encoding="utf-8").count("\n") < 300, entry.name


@pytest.mark.parametrize(
    ("asked", "same"),
    [('"a"', True), ('W/"a"', True), ('"b", "a"', True), ("*", False), ('"ab"', False), ("", False)],
)
def test_tags_are_compared_as_the_standard_says(asked, same):
    """RFC 9110, 13.1.2, weakly; `*` is of no use to who asks for a page."""
    assert matches('"a"', asked) is same

"""The tracker's page on the wire: its frame, its files, and what it may do."""

from __future__ import annotations

import re
from importlib.resources import files

import httpx
import pytest
from fastapi import FastAPI

from triplewire.gates.relay.tracker_page import overlay_assets, page_routes
from triplewire.gates.web.assets import assets


@pytest.fixture
async def http():
    """A client of an application with the page's routes."""
    app = FastAPI()
    app.include_router(page_routes())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://tracker") as client:
        yield client


async def test_the_page_may_run_its_own_modules_only(http):
    """And talk to nobody but its tracker."""
    answer = await http.get("/")

    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "connect-src 'self';" in policy
    assert "unsafe" not in policy
    assert "<style" not in answer.text
    assert "style=" not in answer.text
    assert re.search(r"<script(?! type=\"module\" src=)", answer.text) is None
    again = await http.get("/", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_all_that_it_names_is_there(http):
    """What the frame links to, and what modules import; from nowhere else."""
    page = (await http.get("/")).text
    named = set(re.findall(r'(?:href|src)="([^"]+)"', page))
    seen = set()
    while named - seen:
        path = (named - seen).pop()
        seen.add(path)
        assert path.startswith(f"{overlay_assets().base}/")
        answer = await http.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        if path.endswith(".js"):
            imported = re.findall(r'^import .*?"(.*?)";', answer.text, re.MULTILINE)
            assert all(name.startswith("./") for name in imported)
            named |= {f"{overlay_assets().base}/{name[2:]}" for name in imported}

    assert seen == overlay_assets().by_path.keys()


def test_what_is_shared_is_the_brokers_own():
    """The same bytes, and no file of the one hides one of the other."""
    theirs = {path.rpartition("/")[2]: asset.content for path, asset in assets().by_path.items()}
    ours = {path.rpartition("/")[2]: asset.content for path, asset in overlay_assets().by_path.items()}
    own = {entry.name for entry in files("triplewire.gates.relay").joinpath("page").iterdir()}

    assert not own & theirs.keys()
    assert {name: content for name, content in ours.items() if name not in own}.items() <= theirs.items()


@pytest.mark.parametrize(
    "word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "http:", "https:", ".style."]
)
def test_no_text_becomes_markup(word):
    """Nor is anything fetched from elsewhere."""
    page = files("triplewire.gates.relay").joinpath("page")
    for entry in page.iterdir():
        assert word not in entry.read_text(encoding="utf-8"), entry.name

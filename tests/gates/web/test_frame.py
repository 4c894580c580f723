"""What a page of ours may do, and how its frame and its files are kept by browsers."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI

from triplewire.gates.web.assets import bundle
from triplewire.gates.web.frame import policy_of, serve_page

FILES = bundle([("b.js", b"export {};"), ("a.css", b"p { color: red }")])


@pytest.fixture
async def http():
    """A client of an application that serves one page; the policy is of the host that it is asked as."""
    app = FastAPI()
    serve_page(app.router, "<p>x", FILES, lambda request: policy_of(f"http://{request.url.hostname}:1"))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
        yield client


def test_a_policy_lets_to_one_other_origin_at_most():
    """Nothing in the page itself may run."""
    assert "connect-src 'self'; " in policy_of()
    assert "connect-src 'self' http://there:1; " in policy_of("http://there:1")
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy_of()


async def test_the_frame_is_asked_for_each_time(http):
    """And is answered without a body where it is the same."""
    answer = await http.get("/")
    assert (answer.text, answer.headers["cache-control"]) == ("<p>x", "no-cache")
    assert "http://here:1" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    again = await http.get("/", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_the_files_are_kept_for_ever(http):
    """Under an address that changes with any of them."""
    assert bundle([("b.js", b"export {};"), ("a.css", b"p { color: blue }")]).base != FILES.base
    answer = await http.get(f"{FILES.base}/b.js")
    assert answer.text == "export {};"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert (await http.get(f"{FILES.base}/c.js")).status_code == 404

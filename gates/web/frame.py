"""A page of ours on the wire: its frame, which is asked for each time, and its files, which are kept for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from .assets import etag, matches

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastapi import APIRouter

    from .assets import Asset, Assets

_FOR_EVER = "public, max-age=31536000, immutable"


def serve_page(router: APIRouter, html: str, files: Assets, policy: Callable[[Request], str]) -> None:
    """Serve a page at / and its files where they are; `policy` gives its Content-Security-Policy."""
    page = html.encode()
    tag = etag(page)

    @router.api_route("/", methods=["GET", "HEAD"], response_class=HTMLResponse)
    async def index(request: Request) -> Response:
        """The page."""
        headers = {
            "Content-Security-Policy": policy(request),
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
            "ETag": tag,
        }
        if matches(tag, request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        return HTMLResponse(page, headers=headers)

    for path, asset in files.by_path.items():
        router.add_api_route(path, _serving(asset), methods=["GET", "HEAD"], include_in_schema=False)


def policy_of(elsewhere: str = "") -> str:
    """What a page may do: run its own modules, and talk to where it comes from, and to the origin `elsewhere`.

    No script and no style may stand in it, and no text become markup.  'self' is WebSockets of its own port, too (CSP
    Level 3, "Does url match expression in origin").
    """
    return "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            f"connect-src 'self'{elsewhere and f' {elsewhere}'}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _serving(asset: Asset) -> Callable[[Request], Awaitable[Response]]:
    # Another representation has another tag (RFC 9110, 8.8.3.3)
    forms = {
        "gzip": (asset.compressed, f'{asset.etag[:-1]}-gzip"', {"Content-Encoding": "gzip"}),
        "identity": (asset.content, asset.etag, {}),
    }

    async def serve(request: Request) -> Response:
        packed = "gzip" in request.headers.get("accept-encoding", "")
        content, tag, more = forms["gzip" if packed else "identity"]
        headers = {"Cache-Control": _FOR_EVER, "ETag": tag, "Vary": "Accept-Encoding"} | more
        if matches(tag, request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=asset.media_type, headers=headers)

    return serve

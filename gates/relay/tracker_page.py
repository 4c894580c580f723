"""The tracker's page: a picture of each stream's overlay.  Its modules are in page/, some are the broker's page's own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from fastapi import APIRouter

from triplewire.gates.web.assets import borrowed
from triplewire.gates.web.frame import policy_of, serve_page

if TYPE_CHECKING:
    from triplewire.gates.web.assets import Assets

# What is as on the broker's page: colors, tables, themes, the token.
_SHARED = (
    "announce.js",
    "broker.js",
    "dom.js",
    "grid.js",
    "icon.svg",
    "session.js",
    "settings.js",
    "style.css",
    "tables.css",
    "theme.js",
)


@cache
def overlay_assets() -> Assets:
    """The page's files."""
    return borrowed(_SHARED, __package__, "page")


def page_routes() -> APIRouter:
    """The page at / and its files, open to everybody: what they ask for is not."""
    html = files(__package__).joinpath("overlay.html").read_text(encoding="utf-8")
    router = APIRouter(include_in_schema=False)
    serve_page(
        router, html.replace("__PAGE__", overlay_assets().base), overlay_assets(), lambda _: policy_of()
    )
    return router

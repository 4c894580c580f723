"""SPARQL over HTTP as a test says it: nothing is added to help, and nothing hidden."""

from __future__ import annotations

import time
from typing import Any, Self

import httpx

QUERY, UPDATE = "application/sparql-query", "application/sparql-update"


class Sparql:
    """A kept connection to one broker."""

    def __init__(self, url: str, timeout_s: float = 30) -> None:
        self.http = httpx.Client(base_url=url, timeout=timeout_s, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def query(self, sparql: str, accept: str | None = None, **parameters: Any) -> httpx.Response:
        """A direct POST to the query path, whatever comes of it."""
        headers = {"Content-Type": QUERY} | ({"Accept": accept} if accept else {})
        return self.http.post("/query", content=sparql, headers=headers, params=parameters)

    def try_update(self, sparql: str, **parameters: Any) -> httpx.Response:
        """A direct POST to the update path, whatever comes of it."""
        return self.http.post("/update", content=sparql, headers={"Content-Type": UPDATE}, params=parameters)

    def update(self, sparql: str, **parameters: Any) -> None:
        """An update that must succeed."""
        response = self.try_update(sparql, **parameters)

        assert response.status_code == 200, response.text

    def rows(self, sparql: str, **parameters: Any) -> list[dict[str, str]]:
        """The rows of a SELECT that must succeed; of each term its value."""
        response = self.query(sparql, **parameters)

        assert response.status_code == 200, response.text
        found = response.json()["results"]["bindings"]
        return [{name: term["value"] for name, term in row.items()} for row in found]

    def ask(self, sparql: str, **parameters: Any) -> bool:
        """The answer to an ASK that must succeed."""
        return self.query(sparql, **parameters).json()["boolean"]

    def health(self) -> dict[str, Any]:
        """What the broker says of itself."""
        return self.http.get("/health").json()

    def wait_for_health(self, within_s: float = 5, **wanted: Any) -> None:
        """Wait until the broker says so of itself."""
        deadline = time.monotonic() + within_s
        while True:
            health = self.health()
            if all(health[name] == value for name, value in wanted.items()):
                return
            assert time.monotonic() < deadline, f"{wanted} is not so within {within_s} s: {health}"
            time.sleep(0.01)

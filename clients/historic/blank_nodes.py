"""Blank nodes as IRIs, so that rows that are loaded twice meet themselves (RDF 1.1 Concepts 3.5)."""

from __future__ import annotations


def genid(base_iri: str) -> str:
    """What stands before the percent-encoded label: `https://host/.well-known/genid/`, at the root (RFC 8615)."""
    scheme, separator, rest = base_iri.partition("://")
    root = f"{scheme}://{rest.partition('/')[0]}/" if separator else base_iri
    return f"{root}.well-known/genid/"

"""Bytes become nouns here, and nouns bytes; no I/O."""

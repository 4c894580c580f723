"""A broker as tools and resources of the Model Context Protocol (revisions 2026-07-28 and before), for language models.

Needs the extra `agents`; of this package `limits.py`, `rows.py`, `history.py` and `terms.py` are plain Python.  What a
caller may do is what the broker says of its token: nothing is decided here but `--read-only`.
"""

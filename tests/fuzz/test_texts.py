"""Any text in the tokenizer, the guard, the analysis of queries and the reader of updates: an answer, in time.

TRIPLEWIRE_FUZZ_S is how long each is fuzzed.
"""

from __future__ import annotations

import pytest
from support.fuzzing import FUZZ_S, TEXT_CHECKS, fuzz, texts

pytestmark = [pytest.mark.xdist_group("fuzz-texts"), pytest.mark.timeout(FUZZ_S * 2 + 120)]


@pytest.mark.parametrize("check", TEXT_CHECKS, ids=lambda check: check.__name__)
def test_any_text_is_read_or_refused_in_time(check):
    """No other error leaves."""
    assert fuzz(texts, check, FUZZ_S / len(TEXT_CHECKS)) > 0

from __future__ import annotations

from triplewire.clients.historic.reasons import Reason


def test_a_reason_is_its_own_text():
    """What the quarantine and the report write is the word itself."""
    assert f"{Reason.BAD_NUMBER}" == "bad number"
    assert Reason("impossible time") is Reason.IMPOSSIBLE_TIME


def test_reasons_are_words_for_people():
    """Small letters and spaces, but for the two that are abbreviations."""
    assert all(reason.replace("IRI", "iri").islower() and "_" not in reason for reason in Reason)

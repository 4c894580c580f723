"""Errors as a language model is told them: what is wrong, where, and what would help."""

from __future__ import annotations

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost, ProfileError

# The rest of a text that the broker sent is not told: it can be as long as a web page.
_LONGEST = 2_000


class ToolRefused(Exception):
    """A tool can't do what was asked for; the message is for the one who asked."""


def told(error: Exception) -> str | None:
    """The error in words; None where it is ours, whose details nobody is told."""
    match error:
        case ToolRefused():
            return str(error)
        case BrokerRefused():
            return _refused(error)
        case ProfileError():
            return f"The profile does not allow that: {error}"
        case ConnectionLost():
            return f"The broker can't be reached: {error}. Try again later; an update may have been made all the same."
        case BrokerMisbehaved():
            return f"The broker's answer can't be understood: {error}"
        case TimeoutError():
            return "There was no answer in time. An update may have been made all the same: ask before repeating it."
        case _:
            return None


def _refused(error: BrokerRefused) -> str:
    said = error.description[:_LONGEST]
    match error.status:
        case 401:
            return f"The broker asks for a token, or the one given is not good: {said} ({error.code}, 401)"
        case 403:
            return f"Not permitted: the token that is used may not do this. The broker says: {said} ({error.code}, 403)"
        case 429 | 503:
            return f"The broker is too busy; try again later: {said} ({error.code}, {error.status})"
        case _:
            return f"The broker refused it: {said} ({error.code}, {error.status})"

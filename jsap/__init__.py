"""JSON SPARQL Application Profiles, and forced bindings."""

from .check import check
from .endpoints import Endpoint
from .entries import Entry, OAuth
from .forced_bindings import bind
from .problems import Problem
from .profile import Profile
from .terms import UNDEF, ForcedBinding

__all__ = [
    "UNDEF",
    "Endpoint",
    "Entry",
    "ForcedBinding",
    "OAuth",
    "Problem",
    "Profile",
    "bind",
    "check",
]

"""What a subscription's query depends on, worked out once for all queries that differ in constants only."""

from .analysis import Analysis, Lifted, analyse
from .occurrence import Graphs, Occurrence

__all__ = ["Analysis", "Graphs", "Lifted", "Occurrence", "analyse"]

"""What a node of the overlay counts, for /health and /metrics: plain integers, which only grow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counted:
    """Parcels, items, messages and bytes of all streams and links together.

    Bytes are those of messages, without frames of WebSocket, TLS and TCP; `data` is parcels, `control` all else.
    """

    links_opened: int = 0
    links_lost: int = 0  # ended by the network, or by silence
    links_refused: int = 0  # no ticket, or one that is not good
    dials_failed: int = 0
    data_in_bytes: int = 0
    data_out_bytes: int = 0
    control_in_bytes: int = 0
    control_out_bytes: int = 0
    data_in: int = 0
    data_out: int = 0
    control_in: int = 0
    control_out: int = 0
    parcels: int = 0  # that were new here
    items: int = 0  # in them
    duplicates: int = 0  # parcels that were here already
    duplicate_items: int = 0
    resent: int = 0  # parcels given to those who asked
    resent_refused: int = 0  # asked for faster than they are given
    dropped: int = 0  # parcels that a full queue to a link let go
    forged: int = 0  # parcels whose signature is not their chain's
    uncertified: int = 0  # parcels of chains without a certificate
    certificates_refused: int = 0
    misfit: int = 0  # messages that are none, or for a stream that is not shared
    wants: int = 0
    absent: int = 0  # answers that the neighbour has it not either
    origins: int = 0  # wants that went to the node where a chain begins
    gaps: int = 0  # markers given to consumers, as what is missing is nowhere to be had
    markers: int = 0  # gaps that were given up, and how many items there were in them
    lost: int = 0
    early: int = 0  # of these gaps, those that were given up as too much waited behind them
    late: int = 0  # items that came when their place had passed
    forgotten: int = 0  # times that a neighbour spoke of items, and nobody gave them
    withheld: int = 0  # parcels that a sink was too slow for; they are given to it later
    published: int = 0  # own parcels
    published_items: int = 0
    instructions: int = 0
    instructions_ignored: int = 0  # stale, or of a tracker that is not the stream's

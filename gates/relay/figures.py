"""What of a node's state is shown to Prometheus: place in the state, name, whether it only grows, and what it means.

Units and words as in `gates/web/metrics.py`, which shows them; the counts are those of `counted.py`.
"""

from __future__ import annotations

FIGURES: tuple[tuple[str, str, bool, str], ...] = (
    (
        "relay.members",
        "relay_streams",
        False,
        "Streams that this node is in, as somebody follows or publishes",
    ),
    ("relay.links", "relay_links", False, "Links to other nodes"),
    ("relay.links_opened", "relay_links_opened_total", True, "Links made"),
    ("relay.links_lost", "relay_links_lost_total", True, "Links ended by the network, or by silence"),
    ("relay.links_refused", "relay_links_refused_total", True, "Links refused for want of a good ticket"),
    ("relay.dials_failed", "relay_dials_failed_total", True, "Nodes that could not be reached"),
    ("relay.data_in", "relay_data_received_total", True, "Parcels that came over links"),
    ("relay.data_in_bytes", "relay_data_received_bytes_total", True, "Their size"),
    ("relay.data_out", "relay_data_sent_total", True, "Parcels sent over links"),
    ("relay.data_out_bytes", "relay_data_sent_bytes_total", True, "Their size"),
    ("relay.control_in", "relay_control_received_total", True, "Other messages that came over links"),
    ("relay.control_in_bytes", "relay_control_received_bytes_total", True, "Their size"),
    ("relay.control_out", "relay_control_sent_total", True, "Other messages sent over links"),
    ("relay.control_out_bytes", "relay_control_sent_bytes_total", True, "Their size"),
    ("relay.parcels", "relay_parcels_total", True, "Parcels of other nodes that were new here"),
    ("relay.items", "relay_items_total", True, "Items in them"),
    ("relay.duplicates", "relay_duplicate_parcels_total", True, "Parcels that were here already"),
    ("relay.duplicate_items", "relay_duplicates_total", True, "Items in them"),
    ("relay.published", "relay_published_parcels_total", True, "Parcels of what was published here"),
    ("relay.published_items", "relay_published_total", True, "Items in them"),
    ("relay.resent", "relay_resent_total", True, "Parcels given again to nodes that missed them"),
    ("relay.resent_refused", "relay_resends_refused_total", True, "Times that too much was asked for again"),
    ("relay.dropped", "relay_dropped_total", True, "Parcels let go, as a link was too slow"),
    ("relay.forged", "relay_forged_total", True, "Parcels not signed by whom they name"),
    ("relay.uncertified", "relay_uncertified_total", True, "Parcels of publishers without a certificate"),
    (
        "relay.certificates_refused",
        "relay_certificates_refused_total",
        True,
        "Certificates that are not good",
    ),
    ("relay.misfit", "relay_misfit_total", True, "Messages that are none, or of streams not shared"),
    ("relay.wants", "relay_wants_total", True, "Times that missing items were asked for"),
    ("relay.absent", "relay_absent_total", True, "Times that the node asked had them not"),
    ("relay.origins", "relay_origins_total", True, "Times that the node where they came from was asked"),
    ("relay.gaps", "relay_gaps_total", True, "Gaps told to consumers, as nobody had the items"),
    ("relay.markers", "relay_given_up_total", True, "Gaps that were asked for in vain"),
    ("relay.lost", "relay_lost_total", True, "Items in them"),
    ("relay.early", "relay_given_up_early_total", True, "Of these gaps, those behind which too much waited"),
    ("relay.late", "relay_late_total", True, "Items that came when it was told that they are missing"),
    ("relay.forgotten", "relay_forgotten_total", True, "Times that items were spoken of, and not to be had"),
    ("relay.withheld", "relay_withheld_total", True, "Parcels for which this process was too slow"),
    ("relay.instructions", "relay_instructions_total", True, "Instructions of trackers that were followed"),
    ("relay.instructions_ignored", "relay_instructions_ignored_total", True, "Of those that were stale"),
)

// What Operations shows of /metrics: cards, in this order.  A figure that the broker does not have is left out.

// [title, name of the metric, whether it is told as a rate, unit, labels that it must have]
export const CARDS = [
  ["Updates", "triplewire_updates_total", true, "/s"],
  ["Queries", "triplewire_queries_total", true, "/s"],
  ["Notifications", "triplewire_notifications_total", true, "/s"],
  ["Subscriptions", "triplewire_subscriptions", false, ""],
  ["Waiting to resume", "triplewire_subscriptions_away", false, ""],
  ["Different queries", "triplewire_units", false, ""],
  ["Connections", "triplewire_subscribers", false, ""],
  ["Queue", "triplewire_requests_waiting", false, ""],
  ["Refused", "triplewire_refused_total", false, ""],
  ["Failed", "triplewire_failed_total", false, ""],
  ["Slow clients cut", "triplewire_slow_subscribers_total", false, "", { outcome: "closed" }],
  ["Tokens refused", "triplewire_errors_total", false, "", { status: "401" }],
  ["Tokens renewed", "triplewire_tokens_total", false, "", { event: "renewed" }],
  ["Quads", "triplewire_dataset_quads", false, ""],
  ["Store renewals", "triplewire_dataset_renewals_total", false, ""],
  ["Journal", "triplewire_journal_bytes", false, "B"],
  ["Not yet synced", "triplewire_journal_unsynced_bytes", false, "B"],
  ["Snapshots", "triplewire_journal_snapshots_total", false, ""],
  ["Journal failures", "triplewire_journal_failures_total", false, ""],
  ["Followers", "triplewire_journal_followers", false, ""],
  ["Behind the leader", "triplewire_following_lag_seconds", false, "s"],
  ["Streams", "triplewire_streams", false, ""],
  ["Consumers", "triplewire_stream_consumers", false, ""],
  ["Stream items", "triplewire_stream_items_total", true, "/s"],
  ["Memory", "process_resident_memory_bytes", false, "B"],
];
export const LATENCY = "triplewire_update_seconds";
export const UPDATES = "triplewire_updates_total";
export const KINDS = "triplewire_subscriptions_by_kind";

"""Subscriptions as server-sent events."""

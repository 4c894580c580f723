"""Subscription processing units: what a subscription costs and how its delta is found."""

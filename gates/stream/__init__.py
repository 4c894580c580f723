"""Streams of items over plain HTTP: taken from publishers, kept for a while, written to all who follow."""

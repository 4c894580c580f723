"""The engine: nouns, exact changes, the store, the core and its scheduler.

Import the module you need (``triplewire.broker.model``); importing this package loads nothing.
"""

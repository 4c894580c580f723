"""Following: a broker's journal over HTTP, and the broker that has its dataset from there.

- `JournalGate` serves `/journal` and `/journal/snapshot` of the leader (gate.py); their bytes are those of
  `broker/journal/feed.py`.
- `Follower` keeps a connection to the leader and carries out its changes here (follower.py).
- `Forwarder` sends updates that come here to the leader, and waits until they are here (forwarder.py).
"""

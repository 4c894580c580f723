"""The dataset of the embedded store: an Oxigraph store, and what keeps it safe, fast and small.

- `Dataset` writes exact changes into the store, into the journal first where there is one (dataset.py).
- `open_dataset` makes it what it was when the last process ended (opening.py); `position.py` says how far the files
  of the disk engine are.
- `Churn` counts what is dead in the store (churn.py), `renewed` builds the store anew beside itself (renewal.py).

The core thread writes.  Everything slow (syncing, snapshots, renewal) happens in `Dataset.keep`, on another thread.
"""

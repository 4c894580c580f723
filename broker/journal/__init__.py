"""The journal: every change of the dataset, in order, on disk, and the dataset of any moment made of it again.

::

    DIR/lock                               held by the one process that writes
    DIR/journal/<first sequence>.twj       segments: a header, then records (segment.py, record.py)
    DIR/snapshots/<sequence>/              the whole dataset: manifest.json, part-00000.nq.gz, ... (snapshot.py)

A record is one `QuadDelta`: exactly what came and went.  So a record that is replayed twice changes nothing the second
time, and a record can be taken back.  That is what lets a snapshot be written while updates go on, and lets the
dataset of ten o'clock be found from a snapshot of noon.

Records are numbered from 1; a sequence number stands for the dataset after that record, 0 for the dataset before all.

- `Journal` appends (journal.py), `JournalReader` reads and follows (reader.py).
- `checkpoint` writes a snapshot and lets old files go (checkpoint.py).
- `recover` fills an empty store (recovery.py).
- `verify`, `dump` and `restore` are for tools (inspection.py, restore.py); they need no lock and change nothing.

Blank nodes keep their labels in all of it.  Oxigraph's own loading gives them new ones, so a line that names one goes
through its parser, which keeps them.
"""

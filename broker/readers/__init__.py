"""Queries in processes of their own, which can be ended.

Nothing can stop a query that runs inside Oxigraph on a thread: it keeps its processor and its memory, and where it fails
badly it takes the broker with it.  A process can be killed, whatever it does.

- `ReaderProcesses` keeps a few of them and asks them questions (pool.py); `Question` is what they are asked.
- `ForkedStore` makes them as copies of this process, which have the store in memory as it was (forking.py);
  `OpenedStore` starts new ones, which open the files of the disk engine (opened.py).
- Both answer in the same way (child.py), and are spoken to in frames over a socket (wire.py, process.py).
- What is written after a copy was made is kept for it (backlog.py), and sent before its next question.
- `run_forked` does any other work on a copy (forking.py).

A copy is made while nobody is inside the store: a lock that another thread held would stay locked in the copy for ever.
So all use of the store in this process happens under one lock, `quiet`.
"""

"""The chat of the SEPA paper (its section 5.4): how agents work together by events alone.

Each client has three agents.  Its sender is a producer (SEND).  Its receiver is an aggregator: for each message to the
user (SENT) it says that the message has come (SET_RECEIVED).  Its remover is an aggregator too: for each message from the
user that has come (RECEIVED) it takes the message away (REMOVE).  So one message walks like this::

    Anna's sender      SEND ---------->  SENT + ------>  Bob's receiver
    Anna's remover     <-- + RECEIVED   <--------------  SET_RECEIVED
    Anna's remover     REMOVE -------->  SENT - ------>  Bob's receiver: Anna knows that it came
                       <-- - RECEIVED

What is in the store at any time are the users and the messages on their way; at the end nothing of a message is left.
A user has one IRI for ever, made of the name, so messages to a user who is away wait.

In `chat.jsap` a message is told from others by its IRI alone, a fresh one of `UUID()`: two messages may be sent in the
same instant, even with the same text.  Times are `xsd:dateTime` rather than strings, so that they can be compared, and
SET_RECEIVED does nothing where the message has come before, so that it can be repeated.  Data are in a graph of their
own, named in the texts and in `graphs` both: a client that leaves `graphs` out finds the same.

Run it: `python -m triplewire.conf.chat --clients 10 --messages 10`, or for people `... --name Anna`.
"""

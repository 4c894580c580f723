"""A network of relays in one process: a tracker, some relays in several regions, a publisher and a consumer at each.

::

    publisher  --item a second-->  relay-01  <==>  relay-02 .. relay-16     each has 4 of the others as neighbours
                                      |               |           |
                                   consumer        consumer    consumer     and says when the item came

The publisher knows one relay, and sends each item once.  The tracker says who is whose neighbour; its page shows that.

Run it: `python -m triplewire.conf.overlay`, with other numbers: `... --relays 40 --degree 5`.
"""

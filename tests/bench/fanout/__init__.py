"""Fan-out to thousands: a load generator, the peers, one measurement, and its figures."""

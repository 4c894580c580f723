"""Producer, Consumer, Aggregator, GenericClient and the command line."""

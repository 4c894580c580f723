"""SPARQL 1.1 Protocol and Graph Store HTTP Protocol."""

"""The W3C's SPARQL 1.0 and 1.1 tests, put to a running broker over HTTP."""

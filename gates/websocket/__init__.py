"""SPARQL 1.1 Secure Event Protocol over WebSocket."""

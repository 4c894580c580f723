"""JSON SPARQL Application Profiles, and forced bindings."""

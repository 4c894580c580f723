"""The page at the root of the HTTP port."""

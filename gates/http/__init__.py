"""What all gates on the HTTP port share: reading requests, writing responses, the router, the connection."""

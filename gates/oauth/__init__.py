"""The authorization server's ways in: registration, tokens, revocation, metadata, administration of clients."""

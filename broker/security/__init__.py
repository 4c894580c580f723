"""Who may do what: clients and their secrets, tokens and the keys that sign them, permissions."""

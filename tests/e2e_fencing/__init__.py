"""Real agents and feeders, each node in a network of its own, against the real API server."""

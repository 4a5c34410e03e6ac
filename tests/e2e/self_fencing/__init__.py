"""Real agents and feeders, with a network namespace per node, against the real API server."""

"""Real agents as processes, on a real API server, each with a token that is bound to a pod on its node."""

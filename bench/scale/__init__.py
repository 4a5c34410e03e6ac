"""The checker at scale, on a real API server."""

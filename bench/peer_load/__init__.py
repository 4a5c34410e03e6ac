"""The load from hostile clients that an agent withstands, and its service to its own node meanwhile."""

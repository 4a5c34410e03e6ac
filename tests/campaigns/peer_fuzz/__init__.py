"""Nonsense for everything that an agent reads: nothing raises, and nothing good comes of it."""

"""Serves SelfRemediation: marks a node, waits until it has certainly ended itself, releases, closes."""

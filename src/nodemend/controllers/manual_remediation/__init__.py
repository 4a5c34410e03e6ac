"""Serves ManualRemediation: waits for a person's word, releases, closes."""

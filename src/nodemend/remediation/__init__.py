"""Shared code of all remediators: reconciler, locks, concurrency, writes."""

"""Logs, metrics and event reasons."""

"""Compact records of Nodes, remediations and Leases, and live (uncached) reads."""

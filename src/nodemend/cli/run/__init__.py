"""Writes and takes back a person's order to remediate a node now."""

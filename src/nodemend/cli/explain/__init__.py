"""Explains why a node or a Machine is or is not remediated."""

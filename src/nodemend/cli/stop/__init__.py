"""Ends remediations."""

"""Writes and withdraws a person's word."""

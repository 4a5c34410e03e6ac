"""Writes and ends the pause of the whole cluster."""

"""Writes and ends the pause of the whole cluster, or of one check."""

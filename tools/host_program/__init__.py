"""Packs the program for a node's host into one file, for any supported Python."""

"""Packs what a node's host runs into one file, for any Python that we support."""

"""Tells what happened to one node, when, and on which evidence: in words, and as a picture."""

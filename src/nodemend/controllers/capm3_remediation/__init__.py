"""Serves CAPM3's Metal3Remediations: each by one of ours that stands in for it."""

"""Measures the campaigns by the semantic mutants that they catch alone."""

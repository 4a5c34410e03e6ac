"""Serves NodeHealthCheck: judges nodes, asks for remediations, withdraws them."""

"""Nodemend installed on a real control plane, from its own manifests, for tests and for the demonstration."""

"""Nodemend heals the nodes of a Kubernetes cluster."""

__version__ = "0.1.0.dev0"

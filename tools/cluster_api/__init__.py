"""Cluster API's own manager, on a real control plane, beside which ours can be held. See README.md."""

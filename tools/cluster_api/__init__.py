"""Cluster API's own manager on a real control plane, to compare Nodemend's checker with. See README.md."""

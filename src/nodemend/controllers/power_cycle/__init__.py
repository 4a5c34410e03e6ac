"""Serves Metal3Remediation: switches a host off through metal3, releases, switches it on, closes."""

"""Backups and restores of etcd at every phase of every remediation, in the simulated world."""

"""Verifies the cluster, the installation and the configuration."""

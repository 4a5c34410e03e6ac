"""Verify the cluster, the installation and the configuration."""

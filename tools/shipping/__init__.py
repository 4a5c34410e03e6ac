"""Builds the release artifacts, installs them on a clean system, and starts them."""

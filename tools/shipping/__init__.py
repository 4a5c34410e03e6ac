"""Builds what we ship, installs it as a stranger would, and starts it."""

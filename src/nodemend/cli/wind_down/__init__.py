"""Brings everything under way to its safe end, so that Nodemend can be uninstalled."""

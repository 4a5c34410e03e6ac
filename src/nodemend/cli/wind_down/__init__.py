"""Ends all remediations safely, so that Nodemend can be uninstalled."""

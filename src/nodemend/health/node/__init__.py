"""The controller of NodeHealthChecks."""

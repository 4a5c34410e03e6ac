"""Names of what we log, count and report."""

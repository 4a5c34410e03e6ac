"""Health checks: rules, conditions, requests for remediations, reports."""

"""Writes what is made from the code: CRDs, and the plain manifests from the chart.

`python -m generate` writes, `python -m generate --check` only tells what is stale.
"""

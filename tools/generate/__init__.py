"""Writes the files that are generated from the code: CRDs, and the plain manifests from the chart.

`python -m generate` writes, `python -m generate --check` only reports stale files.
"""

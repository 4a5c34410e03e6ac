"""The cluster-wide limits at run time: counts, storms, admission policies."""

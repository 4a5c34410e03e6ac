"""The cost of an agent: memory on its node, requests and bytes at the API server."""

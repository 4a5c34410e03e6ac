"""What an agent costs: memory on its node, requests and bytes at the API server."""

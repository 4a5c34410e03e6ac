"""What runs on each node: the feeder, the boot gate, and the check that both make of the API server."""

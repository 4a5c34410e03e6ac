"""The check of the API server that the feeder starts as a separate process."""

"""Long outages and brown-outs of the API server, for clusters in which nobody did anything wrong."""

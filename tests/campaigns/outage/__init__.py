"""Long outages and brown-outs of the API server, for clusters without any other fault."""

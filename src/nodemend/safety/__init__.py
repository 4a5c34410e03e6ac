"""Pure: everything that decides whether the workloads of a node may be released."""

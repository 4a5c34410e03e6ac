"""One look at this node's Lease, by a process of its own that ends with the answer."""

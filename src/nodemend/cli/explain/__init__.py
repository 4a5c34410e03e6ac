"""Says why a node is or is not remediated."""

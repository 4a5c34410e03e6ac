"""What controllers of remediations have in common: the lock on a node, what is left on it, the writes."""

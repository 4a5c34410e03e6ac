"""Shows everything that concerns the healing of one node, as a tree."""

"""Shows everything that concerns the remediation of one node, as a tree."""

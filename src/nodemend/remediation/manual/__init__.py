"""ManualRemediation: an operator makes the node harmless and confirms it."""

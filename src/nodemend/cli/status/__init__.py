"""Shows what is not simply healthy."""

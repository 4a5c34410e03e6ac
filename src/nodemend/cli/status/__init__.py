"""Shows everything that is not simply healthy."""

"""Show everything that is not simply healthy."""

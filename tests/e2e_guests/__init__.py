"""A cluster whose nodes are machines of their own: one is cut off, ends by its watchdog, and is released."""

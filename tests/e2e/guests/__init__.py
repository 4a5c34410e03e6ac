"""A cluster whose nodes are virtual machines: one is cut off, is reset by its watchdog, and is released."""

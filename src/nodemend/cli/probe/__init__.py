"""Says what could release a node if it fell silent now."""

"""Our host operator (simulation.metal3) held to what metal3's own was recorded to do. See README.md."""

"""Many nodes that are lost together, by the clock of the simulated world."""

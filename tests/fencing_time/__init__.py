"""How long self-fencing takes, by the clock of the simulated world."""

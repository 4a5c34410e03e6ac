"""The duration of self-fencing, by the clock of the simulated world."""

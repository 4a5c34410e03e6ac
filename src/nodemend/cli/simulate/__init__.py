"""Says what would happen: the code that decides, on a snapshot and invented failures, in virtual time."""

"""Structured nonsense for every border: any input of another party leads to a documented outcome."""

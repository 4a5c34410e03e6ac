"""Structured nonsense for every border: whatever another party writes comes back as a documented outcome."""

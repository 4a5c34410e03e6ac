"""What an agent bears from those who mean it no good, and what it does for its own node meanwhile."""

"""How Nodemend tells what it does: event reasons, metrics, log lines, health. It decides nothing."""

"""The agent on every node: renews the Lease, answers peers, keeps the watchdog fed while it is healthy."""

"""Looks after the Leases that nodes have with us: who has whom for peers, and markers that nobody wants."""

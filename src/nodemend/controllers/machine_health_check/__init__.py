"""Serves MachineHealthCheck, whoever defined it: judges machines, and asks who is to replace them."""

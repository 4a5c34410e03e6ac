"""The signer of the agents' certificates."""

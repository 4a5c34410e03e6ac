"""Signs the certificates of agents: each node its own name, and nothing else."""

"""Health checks on a real control plane: Machines of either project, nodes alone, workload clusters."""

"""Health checks on a real control plane: machines of Cluster API, of OpenShift, and nodes without any."""

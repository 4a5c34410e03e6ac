"""A real Kubernetes control plane on loopback, for tests and for people. See README.md."""

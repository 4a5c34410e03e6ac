"""A real Kubernetes control plane on loopback, for tests and for interactive use. See README.md."""

"""[power-e2e] Power cycles with real parts: control plane, host operator, BMCs, processes as machines."""

"""The simulated world: scheduler, clocks, network, API server, kubelets, people. Seeded and replayable."""

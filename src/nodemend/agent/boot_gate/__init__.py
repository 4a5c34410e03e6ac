"""The boot gate: kubelet starts only when this boot may run workloads."""

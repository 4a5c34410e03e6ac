"""Pure: when a Node or a Machine is unhealthy, and which remediation it gets."""

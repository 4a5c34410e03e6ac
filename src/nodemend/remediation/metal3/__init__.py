"""Metal3Remediation: a power cycle through metal3."""

"""The programs: checker, remediator, signer, agent."""

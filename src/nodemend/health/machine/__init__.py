"""The controller of MachineHealthChecks of Cluster API and OpenShift."""

"""[power-capi] Power cycles that others ask for: Cluster API's own manager, and medik8s as recorded."""

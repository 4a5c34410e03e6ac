"""The remediation kind of CAPM3, served for Cluster API."""

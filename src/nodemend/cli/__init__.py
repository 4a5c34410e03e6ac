"""kubectl mend."""

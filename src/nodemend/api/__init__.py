"""What users write and what we read, as types. No decisions, no I/O."""

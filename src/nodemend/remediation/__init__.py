"""What all remediators share: reconciler, locks, concurrency, writes."""

"""`kubectl mend`: each command gathers a view, and pure functions render it."""

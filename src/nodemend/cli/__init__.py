"""`kubectl mend`: what a person types."""

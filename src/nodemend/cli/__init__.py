"""The commands of `kubectl mend`, a kubectl plugin."""

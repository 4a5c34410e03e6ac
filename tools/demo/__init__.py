"""The path of one failure on a real control plane, in about a minute, with its time line."""

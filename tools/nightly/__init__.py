"""The campaigns that are too long for CI, one after the other, with the time that each takes."""

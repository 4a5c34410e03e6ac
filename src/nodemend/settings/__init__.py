"""Environment and flags, parsed once into frozen values."""

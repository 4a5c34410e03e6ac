"""The kinds that users write, the types that are read from others, and the generated CRDs."""

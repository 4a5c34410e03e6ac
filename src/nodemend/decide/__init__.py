"""Everything that can declare a node dead. Pure: facts in, verdict out."""

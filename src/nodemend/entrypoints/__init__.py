"""The programs we ship: each wires settings, shells and controllers together."""

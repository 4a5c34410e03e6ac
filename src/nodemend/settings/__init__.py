"""What a program is told at its start: parsed once, checked against itself, frozen."""

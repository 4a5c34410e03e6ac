"""What every health check is made of: the book of its targets, the guard over them, the remedies it knows."""

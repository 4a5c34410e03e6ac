"""Shows the events of one node, with times and evidence, as text and as a picture."""

"""Every way in which links of five parties can be cut, through the shipped decisions."""

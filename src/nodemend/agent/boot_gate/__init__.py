"""Keeps kubelet from starting until this boot can be ended from afar, and nobody asks for its end."""

"""Says what would happen: the code that decides, on a snapshot and invented failures, in virtual time.

Facts, counts, guard and decisions are the checker's own functions; only the order in which they are called is
written anew, in `engine`. The checker itself could run here, in the world of `nodemend.testing`: then every
heartbeat of 5,000 nodes would go through a simulated API server. Tests hold the one to the other.
"""

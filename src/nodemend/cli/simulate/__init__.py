"""Simulate failures: the deciding code, on a snapshot and specified failures, in virtual time.

Facts, counts, guard and decisions are the checker's own functions. Only the order in which they are called is
implemented again, in `engine`. The checker itself could run here, in the simulated world of
`simulation`, but then every heartbeat of 5,000 nodes would pass through a simulated API server. Tests
compare the two.
"""

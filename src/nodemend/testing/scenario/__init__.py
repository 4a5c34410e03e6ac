"""Incidents as texts: what happens to a simulated cluster, and exactly what is done about it.

    # A node goes silent; its workload moves only on a person's word.
    given 3 nodes, 1 workload
    at 1m node-1 is cut off
    at 6m anna switches node-1 off
    at 6m anna vouches for node-1
    until 10m
    ---
    02:25  node-1 turns Unknown
    ...

Everything below the line is what the cluster did. It is written by the cluster, and read by a reviewer.
"""

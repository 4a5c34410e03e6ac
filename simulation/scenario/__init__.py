"""Scenarios as text files: events in a simulated cluster, and the exact reaction of Nodemend.

    # A node goes silent; its workload waits for an operator confirmation.
    given 3 nodes, 1 workload
    at 1m node-1 is cut off
    at 6m anna switches node-1 off
    until 10m
    ---
    02:25  node-1 turns Unknown
    ...

Everything below the line is the recorded output of the simulation. A reviewer reads it.
"""

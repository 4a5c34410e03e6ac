"""Machines for tests: a real process each, switched by a real BMC, run by an operator of metal3's hosts.

Beside a control plane of `controlplane`. See README.md.
"""

"""A simulated cluster: machines with kubelets, Kubernetes' own controllers, and operators.

Each part is implemented only as far as it decides where a workload's process runs. All of them use the
simulated API server without delay or loss: the tests examine Nodemend in a world that otherwise behaves
correctly.
"""

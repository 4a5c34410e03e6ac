"""A simulated cluster: machines with kubelets, the controllers that Kubernetes itself runs, and people.

Only as much of each as decides where a workload's process runs. All of them talk to the simulated API server
without delay or loss: what is tested is our code, on a world that behaves.
"""

"""A client runtime for Kubernetes: transport, reflector, store, informer, workqueue, leader election."""

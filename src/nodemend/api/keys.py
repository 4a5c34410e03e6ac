"""Every label, annotation, taint, finalizer and object name that is ours or that we act on."""

from typing import Final

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
"""The taint by which Kubernetes releases a node's pods and volumes by force."""

OUR_TAINT_VALUE: Final = "nodemend"
"""Tells our out-of-service taint from anybody else's."""

NO_EXECUTE: Final = "NoExecute"

SAFE_END: Final = "nodemend.io/safe-end"
"""Finalizer: a remediation ends only after what it added is removed."""

CHECK: Final = "nodemend.io/check"
"""Label on a remediation: the health check that asked for it."""

CHECK_UID: Final = "nodemend.io/check-uid"
"""Annotation beside it: the very check, should another take its name."""

TEMPLATE: Final = "nodemend.io/template"
"""Annotation on a remediation: the template that it was made from."""

RECOVERY: Final = "nodemend.io/recovery"
"""Annotation on an object that a check made to recover a node, and not to remediate it."""

ORDER: Final = "nodemend.io/order"
"""Annotation on a remediation that a person ordered: the UID of the order, which is thereby used."""

ORDERED_BY: Final = "nodemend.io/ordered-by"
"""Annotation beside it: who."""

ORDERED_BECAUSE: Final = "nodemend.io/ordered-because"
"""Annotation beside it: why."""

PAST_GUARD: Final = "nodemend.io/past-guard"
"""Annotation beside it, where it was let past the guard: the holds that it passed, or "nothing"."""

EXCLUDE: Final = "nodemend.io/exclude"
"""Label or annotation on a Node: leave it alone. Any value but "false" says so."""

MEDIK8S_EXCLUDE: Final = "remediation.medik8s.io/exclude-from-remediation"
"""The label by which medik8s is told the same; there only "true" says so."""

HOLDER: Final = "nodemend.io/holder"
"""Annotation on the lock of a node: who has it, for people. The lock itself goes by UID."""

RELEASE_VOIDED: Final = "nodemend.io/release-voided"
"""Annotation on a Node: a release was called off here. Writing it raises the Node's version, so that a
release write which is still under way meets a conflict."""

HOLD_PREFIX: Final = "reboot.metal3.io/"
"""Annotations on a BareMetalHost that begin so hold it off, each for the client that the rest names."""

OUR_HOLD_PREFIX: Final = "reboot.metal3.io/nodemend-"
"""Ours; the rest is the UID of the remediation that holds it off."""

HARD_HOLD: Final = '{"mode":"hard"}'
"""The value of a hold that does not wait for the sick system's consent."""

HOST_PAUSED: Final = "baremetalhost.metal3.io/paused"
HOST_DETACHED: Final = "baremetalhost.metal3.io/detached"

HOST_OF_MACHINE: Final = "metal3.io/BareMetalHost"
"""Annotation on a Metal3Machine, or on OpenShift's Machine: NAMESPACE/NAME of its host."""

HOST_UNHEALTHY: Final = ("capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy")
"""Annotations on a BareMetalHost by their newer and their older name: it is not picked for a machine."""

HOST_SYSTEM_UUID: Final = "nodemend.io/system-uuid"
"""Annotation on a BareMetalHost: the system UUID of its machine, which metal3 itself does not tell."""

NODE_OF_REMEDIATION: Final = "remediation.medik8s.io/node-name"
"""Annotation on a remediation that medik8s made: the node. Its name need not be that of the node."""

MACHINE_OF_NODE: Final = "cluster.x-k8s.io/machine"
"""Annotation on a Node: the name of its Machine, in Cluster API."""

NAMESPACE_OF_CLUSTER: Final = "cluster.x-k8s.io/cluster-namespace"
"""Annotation beside it: where that Machine is."""

OPENSHIFT_MACHINE_OF_NODE: Final = "machine.openshift.io/machine"
"""Annotation on a Node: NAMESPACE/NAME of its Machine, in OpenShift."""

FLAT: Final = "nodemend.io/flat"
"""Label on the definition of MachineHealthCheck that we ship for clusters without Cluster API."""

POLICY_NAME: Final = "cluster"
"""The one RemediationPolicy of a cluster."""

KUBELET_LEASE_NAMESPACE: Final = "kube-node-lease"

SYSTEM_NAMESPACE: Final = "nodemend-system"
"""Where our own Leases live, unless the settings name another."""

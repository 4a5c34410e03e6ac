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

DRILL: Final = "nodemend.io/drill"
"""Annotation on a SelfRemediation that a person made to time a reset: who. Only the watchdog ends the node
then."""

EXCLUDE: Final = "nodemend.io/exclude"
"""Label or annotation on a Node: leave it alone. Any value but "false" says so."""

MEDIK8S_EXCLUDE: Final = "remediation.medik8s.io/exclude-from-remediation"
"""The label by which medik8s is told the same; there only "true" says so."""

HOLDER: Final = "nodemend.io/holder"
"""Annotation on the lock of a node: who has it, for people. The lock itself goes by UID."""

RELEASE_REVOKED: Final = "nodemend.io/release-voided"
"""Annotation on a Node: a release was called off here. Writing it raises the Node's version, so that a
release write which is still under way meets a conflict."""

HOLD_PREFIX: Final = "reboot.metal3.io/"
"""Annotations on a BareMetalHost that begin so hold it off, each for the client that the rest names."""

POWER_OFF_REQUEST_PREFIX: Final = "reboot.metal3.io/nodemend-"
"""Ours; the rest is the UID of the remediation that holds it off."""

POWER_OFF_REVOKED: Final = "nodemend.io/hold-voided"
"""Annotation on a BareMetalHost: the UID of a remediation that ends. Writing it raises the host's version, so
that a hold which is still under way meets a conflict; it comes off at once."""

HARD_HOLD: Final = '{"mode":"hard"}'
"""The value of a hold that does not wait for the sick system's consent."""

HOST_PAUSED: Final = "baremetalhost.metal3.io/paused"
HOST_DETACHED: Final = "baremetalhost.metal3.io/detached"

HOST_OF_MACHINE: Final = "metal3.io/BareMetalHost"
"""Annotation on a Metal3Machine, or on OpenShift's Machine: NAMESPACE/NAME of its host."""

HOST_UNHEALTHY: Final = ("capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy")
"""Annotations on a BareMetalHost by their newer and their older name: it is not picked for a machine."""

MARKED_BY_US: Final = "nodemend"
"""The value of these where we wrote them."""

HOST_SYSTEM_UUID: Final = "nodemend.io/system-uuid"
"""Annotation on a BareMetalHost: the system UUID of its machine, which metal3 itself does not tell."""

EXTERNAL_REMEDIATION: Final = "host.metal3.io/external-remediation"
"""Annotation on a Machine: somebody asks for its remediation, be it OpenShift's MachineHealthCheck by its
strategy external-baremetal. Any value says so."""

REMEDIATION_STRATEGY: Final = "machine.openshift.io/remediation-strategy"
"""Annotation on OpenShift's MachineHealthCheck: another way to remediate than deleting Machines."""

EXTERNAL_STRATEGY: Final = "external-baremetal"
"""The strategy by which OpenShift's check sets the annotation above, and deletes nothing."""

MARKS_OF_THE_ACTUATOR: Final = (
    "remediation.metal3.io/powered-off-for-remediation",
    "remediation.metal3.io/power-on-will-timeout-at",
)
"""Annotations on a Machine by which OpenShift's bare-metal actuator says that it is at work on that."""

LEASE_OF_THE_ACTUATOR: Final = "controller-leader-election-capbm"
"""The Lease of its leader, in the namespace of its Machines."""

NODE_OF_REMEDIATION: Final = "remediation.medik8s.io/node-name"
"""Annotation on a remediation that medik8s made: the node. Its name need not be that of the node."""

TIMED_OUT: Final = "remediation.medik8s.io/nhc-timed-out"
"""Annotation on a remediation: medik8s' check allows it no more time, and may turn to another remedy."""

MACHINE_OF_NODE: Final = "cluster.x-k8s.io/machine"
"""Annotation on a Node: the name of its Machine, in Cluster API."""

NAMESPACE_OF_CLUSTER: Final = "cluster.x-k8s.io/cluster-namespace"
"""Annotation beside it: where that Machine is."""

OPENSHIFT_MACHINE_OF_NODE: Final = "machine.openshift.io/machine"
"""Annotation on a Node: NAMESPACE/NAME of its Machine, in OpenShift."""

DELEGATE_FOR: Final = "nodemend.io/stand-in-for"
"""Annotation on a Metal3Remediation of ours: the UID of CAPM3's, which it carries out."""

CAPM3_FINALIZER: Final = "metal3remediation.infrastructure.cluster.x-k8s.io"
"""On one of CAPM3's remediations: CAPM3 is at work on it."""

CAPM3_LEASE: Final = "controller-leader-election-capm3"
"""The Lease by which CAPM3's replicas agree who of them leads; in whichever namespace it was installed."""

KUBELET_LABELS: Final = (
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/windows-build",
)
"""Labels that each kubelet writes on its Node by itself."""

LEADER_MEMORY: Final = "nodemend.io/leader-memory"
"""Annotation on the Lease of an election, by its holder: a revision, and the holder's name."""

POLICY_PROBE: Final = "nodemend.io/policy-probe"
"""Label that is only ever tried, as a dry run that an admission policy must refuse."""

UNKEPT_ANNOTATIONS: Final = (
    "volumes.kubernetes.io/controller-managed-attach-detach",
    "volumes.kubernetes.io/keep-terminated-pod-volumes",
    "csi.volume.kubernetes.io/nodeid",
    "alpha.kubernetes.io/provided-node-ip",
    "node.alpha.kubernetes.io/ttl",
    RELEASE_REVOKED,
)
"""Annotations on a Node that its kubelet and Kubernetes' own controllers write anew, and our own."""

CONDITION_TAINTS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints that begin so follow a node's condition, and come and go by it; ours is among them."""

FLAT: Final = "nodemend.io/flat"
"""Label on the definition of MachineHealthCheck that we ship for clusters without Cluster API."""

CONTROL_PLANE_ROLES: Final = frozenset(
    {
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/etcd",
    }
)
"""Labels on Nodes, each of which makes one a member of the control plane."""

POLICY_NAME: Final = "cluster"
"""The one RemediationPolicy of a cluster."""

KUBELET_LEASE_NAMESPACE: Final = "kube-node-lease"

AGENT_NAMESPACE: Final = "nodemend-agents"
"""Where agents run, and where each node has its Lease with us, by the node's own name. Nothing else lives
there, so that no name of a node can be the name of something else."""

AGENT_REPORT: Final = "nodemend.io/agent-report"
"""Annotation on that Lease, by the agent: what it says of itself."""

PEER_PROPOSAL: Final = "nodemend.io/peer-proposal"
"""Annotation on that Lease, by a manager: whom the node should ask."""

MARKER: Final = "nodemend.io/marker"
"""Annotation on that Lease, by a manager: this boot is to end."""

AGENT_USER: Final = f"system:serviceaccount:{AGENT_NAMESPACE}:nodemend-agent"
"""By which the API server knows agents."""

AGENT_SIGNER: Final = "nodemend.io/agent"
"""The signer of their certificates."""

NODE_OF_CALLER: Final = "authentication.kubernetes.io/node-name"
"""What the API server says of whoever uses a token that is bound to a pod: where that pod runs."""

POD_OF_CALLER: Final = "authentication.kubernetes.io/pod-name"
"""And which pod it is."""

AGENT_AUTHORITY: Final = "nodemend-agent-authority"
"""The Secret with the keys by which agents' certificates are signed, in the signer's own namespace."""

AGENT_TRUST: Final = "nodemend-agent-trust"
"""The ConfigMap with the certificates of these, beside the agents: whom they believe."""

REPLACE_AUTHORITY: Final = "nodemend.io/replace-authority"
"""Annotation on that Secret, by a person: sign with a new key as soon as everybody knows it. Any value
says so."""

SYSTEM_NAMESPACE: Final = "nodemend-system"
"""Where our own Leases live, unless the settings name another."""

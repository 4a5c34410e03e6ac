"""ManualRemediation: a person makes the node harmless and says so; we release and close."""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from nodemend.api import manual_remediation_rules
from nodemend.api.conditions import Condition
from nodemend.api.evidence import BOOT_ID, NODE_UID, PERSON, REASON, RENEW_TIME, Evidence, HardwareId
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Rule, Wire, about


class Phase(StrEnum):
    """For people. Code reads the facts beside it."""

    PENDING = "Pending"
    AWAITING_WORD = "AwaitingWord"
    RELEASING = "Releasing"
    RECOVERING = "Recovering"
    CONTRADICTED = "Contradicted"
    """Its workloads are released, and the boot that was vouched to be over runs: they may run twice."""
    SUCCEEDED = "Succeeded"


class Confirmation(Wire):
    """A person's word that one boot of one node can no longer run anything (evidence E5).

    Written once, in the writer's own name, repeating what the status shows. Taking it back before the
    release is allowed; changing it is not.
    """

    by: Annotated[
        str,
        about(
            "Who vouches: the user name of whoever writes this.",
            min_length=1,
            max_length=316,
            example=PERSON,
        ),
    ]
    reason: Annotated[str, about("How they know.", min_length=1, max_length=1024, example=REASON)]
    node_uid: Annotated[
        str, about("Repeats status.nodeUID.", min_length=1, max_length=63, example=NODE_UID)
    ] = msgspec.field(name="nodeUID")
    boot_id: Annotated[
        str, about("Repeats status.bootID.", min_length=1, max_length=128, example=BOOT_ID)
    ] = msgspec.field(name="bootID")
    last_renew_time: Annotated[
        str,
        about(
            "Repeats status.lastRenewTime: the last sign of life they saw.",
            min_length=1,
            max_length=64,
            example=RENEW_TIME,
        ),
    ]


class ManualRemediationSpec(Wire):
    instructions: Annotated[str, about("What the person who is called should do.", max_length=4096)] = ""
    confirmation: Annotated[
        Confirmation | None,
        about(
            "The word, once it is given.",
            rules=(Rule("self == oldSelf", "cannot be changed: withdraw the word, then give it anew"),),
        ),
    ] = None


class ManualRemediationStatus(Wire):
    observed_generation: Annotated[int, about("The generation last acted upon.", ge=0)] = 0
    epoch: Annotated[int, about("The leadership that wrote this. A lower one is refused.", ge=0)] = 0
    phase: Annotated[Phase, about("Where it stands, for people.")] = Phase.PENDING
    message: Annotated[str, about("What it waits for, and what would change that.", max_length=1024)] = ""
    node_uid: Annotated[str, about("The node under remediation.", max_length=63, example=NODE_UID)] = (
        msgspec.field(name="nodeUID", default="")
    )
    boot_id: Annotated[str, about("The boot that must end.", max_length=128, example=BOOT_ID)] = (
        msgspec.field(name="bootID", default="")
    )
    hardware_id: HardwareId = msgspec.field(name="hardwareID", default="")
    last_renew_time: Annotated[
        str, about("The kubelet's last sign of life, once it has been silent for long enough.", max_length=64)
    ] = ""
    evidence: Annotated[
        Evidence | None,
        about(
            "What the release rests on, recorded before it.",
            rules=(Rule("self == oldSelf", "cannot be changed: it is recorded once"),),
        ),
    ] = None
    disproved_generation: Annotated[
        int,
        about(
            "The generation of the spec whose confirmation was wrong: its node gave a sign of life. Only a"
            " confirmation that is given later counts.",
            ge=0,
        ),
    ] = 0
    tainted: Annotated[bool, about("Our out-of-service taint was asked for and may be on the node.")] = False
    released: Annotated[bool, about("Its pods and volumes are gone from the node.")] = False
    pods_left: Annotated[int, about("Pods still bound to the node.", ge=0)] = 0
    attachments_left: Annotated[int, about("Volumes still attached to the node.", ge=0)] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        about(
            "Processing, Fenced, WorkloadReleased, Succeeded, EvidenceContradicted.",
            max_length=16,
            keys=("type",),
        ),
    ] = ()


class ManualRemediation(Wire):
    """One attempt to heal one node by a person's hand. Named like the node."""

    RULES: ClassVar = manual_remediation_rules.RULES

    metadata: ObjectMeta = ObjectMeta()
    spec: ManualRemediationSpec = ManualRemediationSpec()
    status: ManualRemediationStatus = ManualRemediationStatus()


class TemplatedSpec(Wire):
    """A remediation to be."""

    RULES: ClassVar = (
        Rule(
            "!self.?spec.?confirmation.hasValue()",
            "must be absent from a template: nobody can vouch for a node that has not failed yet",
            field=".spec.confirmation",
        ),
    )

    spec: Annotated[ManualRemediationSpec, about("The spec of each remediation made from this.")] = (
        ManualRemediationSpec()
    )


class ManualRemediationTemplateSpec(Wire):
    template: Annotated[TemplatedSpec, about("What each remediation starts as.")] = TemplatedSpec()


class ManualRemediationTemplate(Wire):
    """From which health checks make ManualRemediations."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ManualRemediationTemplateSpec = ManualRemediationTemplateSpec()

"""Each step as the one write that it is."""

import msgspec

from nodemend.api import keys
from nodemend.api.capm3_remediation import Capm3Remediation
from nodemend.api.group_versions import CAPM3_REMEDIATION, METAL3_REMEDIATION
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.controllers.remediating import writes
from nodemend.decide import capm3_remediation as capm3
from nodemend.decide.holds import Hold
from nodemend.decide.remediation_steps import AddFinalizer, Done, DropFinalizer
from nodemend.kube.api_request import Precondition, Request, create, delete


def request_for(theirs: Capm3Remediation, step: capm3.Step, now: str) -> Request | None:
    """The write that makes `step` true; None for a step without one."""
    match step:
        case AddFinalizer() | DropFinalizer():
            return writes.write_finalizer(CAPM3_REMEDIATION, theirs.metadata, step)
        case capm3.Ask():
            return make_stand_in(theirs, step)
        case capm3.Tell():
            wanted = capm3.told(theirs.status, step, now)
            return writes.write_status(CAPM3_REMEDIATION, theirs.metadata, theirs.status, wanted)
        case capm3.Withdraw(stand_in):
            return withdraw(stand_in)
        case Done() | Hold():
            return None


def make_stand_in(theirs: Capm3Remediation, step: capm3.Ask) -> Request:
    """Named like CAPM3's, and owned by the same Machine, by which it finds its host."""
    metadata = theirs.metadata
    body = {
        "apiVersion": METAL3_REMEDIATION.api_version,
        "kind": METAL3_REMEDIATION.kind,
        "metadata": {
            "name": metadata.name,
            "annotations": {keys.STAND_IN_FOR: metadata.uid},
            "ownerReferences": [one for one in metadata.owner_references if one.kind == "Machine"],
        },
        "spec": msgspec.to_builtins(step.spec),
    }
    return create(METAL3_REMEDIATION, body, metadata.namespace, manager=writes.FIELD_MANAGER)


def withdraw(stand_in: Metal3Remediation) -> Request:
    metadata = stand_in.metadata
    only_if = Precondition(metadata.uid, metadata.resource_version)
    return delete(METAL3_REMEDIATION, metadata.name, metadata.namespace, only_if=only_if)

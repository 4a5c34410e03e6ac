"""The Node itself: whether it is ready, our taint, its kubelet's last sign of life. Pure."""

from collections.abc import Iterator

from nodemend.api import keys
from nodemend.api.node import Node
from nodemend.cli.node_case import NodeCase, open_remediation
from nodemend.cli.remediations import Remediation
from nodemend.cli.tree.view import Branch
from nodemend.cli.words import spell_seconds
from nodemend.cli.written_ages import age_of
from nodemend.controllers.node_exclusion import excluded_by
from nodemend.controllers.remediating.surroundings import DEFAULT_LEASE_SECONDS
from nodemend.decide.facts import Absent, Present, Unreadable


def node_branch(case: NodeCase, children: tuple[Branch, ...]) -> Branch:
    match case.node:
        case Present(node):
            ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
            return Branch(
                kind="Node",
                name=case.name,
                state=f"Ready={node.ready}" if ready is not None else "never reported",
                for_seconds=age_of(ready.last_transition_time, case.now) if ready is not None else None,
                says=tuple(_says(case, node)),
                children=(*_taints(case, node), _kubelet(case), *children),
            )
        case Absent():
            says = ("there is no such Node any more",)
            spoke = (_kubelet(case),) if isinstance(case.kubelet, Present) else ()
            return Branch(kind="Node", name=case.name, state="gone", says=says, children=(*spoke, *children))
        case Unreadable():
            return Branch(kind="Node", name=case.name, state="unknown", children=(_kubelet(case), *children))


def _says(case: NodeCase, node: Node) -> Iterator[str]:
    if node.metadata.deleting:
        yield "being deleted"
    fenced = [one for one in case.remediations if _is_fenced(one)]
    if fenced and fenced[0].status.evidence is not None:
        yield f"fenced on {fenced[0].status.evidence.class_}"
    elif open_remediation(case) is not None:
        yield "not fenced"
    if alone := excluded_by(node.metadata.labels, node.metadata.annotations):
        yield f"left alone, as {alone} asks"
    if keys.RELEASE_VOIDED in node.metadata.annotations:
        yield "a release was called off here"


def _is_fenced(remediation: Remediation) -> bool:
    return any((one.type, one.status) == ("Fenced", "True") for one in remediation.status.conditions)


def _taints(case: NodeCase, node: Node) -> Iterator[Branch]:
    for taint in node.spec.taints:
        if taint.key == keys.OUT_OF_SERVICE:
            ours = taint.value == keys.OUR_TAINT_VALUE
            yield Branch(
                kind="Taint",
                name=taint.key,
                state="ours" if ours else "not ours",
                for_seconds=age_of(taint.time_added, case.now),
                says=("its pods and volumes are released by force",)
                if ours
                else ("somebody else has its workloads released by force",),
            )


def _kubelet(case: NodeCase) -> Branch:
    match case.kubelet:
        case Present(lease):
            lasts = float(lease.spec.lease_duration_seconds or DEFAULT_LEASE_SECONDS)
            age = age_of(lease.spec.renew_time, case.now)
            if age is None:
                return Branch(kind="Kubelet", state="unknown", says=("its Lease has no renewal time",))
            if age > lasts:
                says = (f"{spell_seconds(lasts)} count as silence",)
                return Branch(kind="Kubelet", state="silent", for_seconds=age, says=says)
            return Branch(kind="Kubelet", state="speaks", says=(f"renewed {spell_seconds(age)} ago",))
        case Absent():
            return Branch(kind="Kubelet", state="unknown", says=("it has no Lease",))
        case Unreadable():
            return Branch(kind="Kubelet", state="unknown", says=("its Lease cannot be read",))

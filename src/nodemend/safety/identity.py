"""Proof that a host, a Machine and a Node are one machine.

A wrong answer would power off the wrong machine, and then certify that the unhealthy one is dead.

The chain host, consumer, Machine, Node is followed in both directions, and the Node itself must have an
identity fact that the other side has too: a provider ID or a system UUID. A missing fact is not a match, and
names alone prove nothing, because another cluster may use the same ones. No other Node may have the same
facts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable

_METAL3: Final = "metal3://"
_OPENSHIFT: Final = "baremetalhost:///"
LONGEST_PROVIDER_ID: Final = 640
"""Characters. A longer one is ignored. This has space for any namespace and two names."""
LONGEST_UUID: Final = 64
"""Characters, with hyphens and blanks."""
_NO_UUIDS: Final = frozenset({"03000200040005000006000700080009", "0123456789abcdef0123456789abcdef"})
"""Values that boards report whose manufacturer never set one."""

_PROVIDER_ID: Final = "provider ID"
_THROUGH: Final = "consumer reference"
_ASKED: Final = "Machine UID"
_SYSTEM_UUID: Final = "system UUID"
_ORDER: Final = (_PROVIDER_ID, _THROUGH, _ASKED, _SYSTEM_UUID)


@dataclass(frozen=True, slots=True)
class HostByName:
    """A provider ID that names its host: metal3://NAMESPACE/HOST/METAL3MACHINE, or OpenShift's."""

    namespace: str
    name: str
    uid: str = ""
    """OpenShift's provider ID contains it."""


@dataclass(frozen=True, slots=True)
class HostByUid:
    """The older form, metal3://UID."""

    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIdentityFacts:
    """Identity facts of a Node. An empty string: it has no such fact."""

    name: str
    provider_id: str = ""
    system_uuid: str = ""
    machine: str = ""
    """NAMESPACE/NAME of its Machine, from its annotations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineIdentityFacts:
    """Identity facts of a Machine, and of its Metal3Machine if its project has those."""

    name: str
    """NAMESPACE/NAME."""
    uid: str
    node: str = ""
    """The name of its Node, from its status."""
    provider_ids: tuple[str, ...] = ()
    """From the Machine and from the Metal3Machine."""
    system_uuid: str = ""
    """System UUID of its Node, as Cluster API found it in the Machine's own cluster."""
    consumer: str = ""
    """KIND NAMESPACE/NAME that the host should name as its consumer."""
    host: str = ""
    """NAMESPACE/NAME of its host."""
    owner_uid: str | None = None
    """The UID of the Machine that owns the Metal3Machine; None if no Metal3Machine exists."""
    of_this_cluster: bool = False
    """Its project keeps Machines only in the cluster that their Nodes belong to, as OpenShift does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostIdentityFacts:
    name: str
    """NAMESPACE/NAME."""
    uid: str
    consumer: str = ""
    """KIND NAMESPACE/NAME of the host's consumer, from its own consumer reference."""
    system_uuid: str = ""
    """From the annotation that an admin sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityFacts:
    host: HostIdentityFacts
    node: NodeIdentityFacts | None = None
    machine: MachineIdentityFacts | None = None
    asked_uid: str = ""
    """The UID of the Machine that the remediation belongs to; empty if it belongs to no Machine."""
    recorded: bool = False
    """The remediation recorded this host for its Node before that Node was deleted."""


@dataclass(frozen=True, slots=True)
class Matched:
    """They are one machine. `by` lists the matching identity facts for readers of the evidence."""

    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two identity facts that must be equal differ."""

    what: str
    said: str
    actual: str


@dataclass(frozen=True, slots=True)
class Unproven:
    """No fact contradicts the identity, and no fact proves it."""

    missing: str


@dataclass(frozen=True, slots=True)
class NotHere:
    """A Machine whose Node is not in this cluster."""

    machine: str
    node: str
    """Empty if the Machine names no Node."""


@dataclass(frozen=True, slots=True)
class SharedIdentity:
    """Several Nodes have the same provider ID, host or system UUID."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdentityUnknown:
    """The other Nodes cannot be read."""

    why: str


Identity = Matched | Mismatch | Unproven | NotHere | SharedIdentity | IdentityUnknown


def matches_of(identity: Identity) -> tuple[str, ...]:
    """Return the matching identity facts of node and host; empty if the identity is not proven."""
    return identity.by if isinstance(identity, Matched) else ()


def read_provider_id(text: str) -> HostByName | HostByUid | None:
    """Return the parsed provider ID, or None if it is not one of metal3's."""
    text = read_text(text)
    for prefix in (_METAL3, _OPENSHIFT):
        if text.startswith(prefix):
            parts = text.removeprefix(prefix).split("/")
            if len(parts) >= 2 and all(parts[:2]):
                uid = parts[2] if prefix == _OPENSHIFT and len(parts) > 2 else ""
                return HostByName(parts[0], parts[1], uid)
            return HostByUid(parts[0]) if prefix == _METAL3 and parts[0] else None
    return None


def read_text(provider_id: str) -> str:
    """Return a provider ID in the form that is compared; empty if it is missing or too long."""
    return provider_id.strip() if len(provider_id) <= LONGEST_PROVIDER_ID else ""


def read_uuid(text: str) -> str:
    """Return a system UUID in the form that is compared; empty if it is invalid or shared by many boards."""
    digits = text.strip().replace("-", "").lower() if len(text) <= LONGEST_UUID else ""
    known = len(digits) == 32 and not digits.strip("0123456789abcdef")
    return digits if known and len(set(digits)) > 1 and digits not in _NO_UUIDS else ""


def hardware_id(system_uuid: str, machine_id: str) -> str:
    """Return an ID of the machine that reports a Node: from its board, else its disk, else empty."""
    if uuid := read_uuid(system_uuid):
        return f"system-uuid/{uuid}"
    text = machine_id.strip().lower()
    return f"machine-id/{text}" if 0 < len(text) <= 64 else ""


def node_claims(provider_id: str, system_uuid: str) -> frozenset[str]:
    """Return identity facts of a Node that no other Node may have."""
    return frozenset((*_provider_claims(provider_id), *_uuid_claims(system_uuid)))


def claims(identity_facts: IdentityFacts) -> frozenset[str]:
    """Return all facts of the Node, its Machine and the host that no other Node may have."""
    host, node, machine = identity_facts.host, identity_facts.node, identity_facts.machine
    found = {f"host {host.name}", f"host {host.uid}", *_uuid_claims(host.system_uuid)}
    if node is not None:
        found |= node_claims(node.provider_id, node.system_uuid)
    if machine is not None:
        found.update(_uuid_claims(machine.system_uuid))
        found.update(claim for one in machine.provider_ids for claim in _provider_claims(one))
    return frozenset(found)


def _provider_claims(provider_id: str) -> Iterator[str]:
    if text := read_text(provider_id):
        yield f"provider ID {text.lower().rstrip('/')}"
    match read_provider_id(provider_id):
        case HostByName(namespace, name, uid):
            yield f"host {namespace}/{name}"
            if uid:
                yield f"host {uid}"
        case HostByUid(uid):
            yield f"host {uid}"
        case None:
            return


def _uuid_claims(system_uuid: str) -> Iterator[str]:
    if uuid := read_uuid(system_uuid):
        yield f"system UUID {uuid}"


def identify(identity_facts: IdentityFacts, others: ReadResult[tuple[str, ...]]) -> Identity:
    """Return whether this host is this Node's machine.

    `others` are the other Nodes that have one of `claims`.
    """
    wrong = next(_differences(identity_facts), None)
    if wrong is not None:
        return wrong
    if identity_facts.asked_uid and identity_facts.machine is None:
        return Unproven("the Machine of this remediation is gone")
    match others:
        case Unreadable(why):
            return IdentityUnknown(why)
        case Present(names) if names:
            return SharedIdentity(
                (identity_facts.node.name if identity_facts.node else "a Node that is not here", *names)
            )
        case Present() | Absent():
            return _prove(identity_facts)


def identify_node(node: NodeIdentityFacts, machine: MachineIdentityFacts) -> Matched | Mismatch | Unproven:
    """Return whether a Node of this cluster is the Machine's, regardless of its host."""
    wrong = next(_differences_of_node(node, machine), None)
    if wrong is not None:
        return wrong
    if gap := _gap_between(node, machine):
        return Unproven(gap)
    matches = tuple(_matches(node, machine, None))
    return Matched(matches) if matches else Unproven(_no_tie(node, machine))


def _differences(identity_facts: IdentityFacts) -> Iterator[Mismatch]:
    host, node, machine = identity_facts.host, identity_facts.node, identity_facts.machine
    if machine is not None:
        yield from _differ("the Machine of this remediation", identity_facts.asked_uid, machine.uid)
        yield from _differ("the Machine that owns the Metal3Machine", machine.owner_uid or "", machine.uid)
        yield from _differ("the consumer of the host", machine.consumer, host.consumer)
        yield from _differ("the host of the machine", machine.host, host.name)
        for one in machine.provider_ids:
            yield from _wrong_host(one, host)
        yield from _differ_uuid(host.system_uuid, machine.system_uuid)
    if node is not None:
        yield from _wrong_host(node.provider_id, host)
        yield from _differ_uuid(host.system_uuid, node.system_uuid)
    if node is not None and machine is not None:
        yield from _differences_of_node(node, machine)


def _differences_of_node(node: NodeIdentityFacts, machine: MachineIdentityFacts) -> Iterator[Mismatch]:
    yield from _differ("the node of the machine", machine.node, node.name)
    yield from _differ("the Machine of the node", node.machine, machine.name)
    for one in machine.provider_ids:
        yield from _differ("the provider ID", read_text(one), read_text(node.provider_id))
    yield from _differ_uuid(machine.system_uuid, node.system_uuid)


def _differ(what: str, said: str, actual: str) -> Iterator[Mismatch]:
    """Yield a mismatch if both values exist and differ."""
    if said and actual and said.lower() != actual.lower():
        yield Mismatch(what, said, actual)


def _differ_uuid(said: str, actual: str) -> Iterator[Mismatch]:
    """Compare UUIDs without hyphens. Values that are no UUIDs must be the same text."""
    if read_uuid(said) != read_uuid(actual) or not read_uuid(said):
        yield from _differ("the system UUID", said, actual)


def _wrong_host(provider_id: str, host: HostIdentityFacts) -> Iterator[Mismatch]:
    what = "the host in the provider ID"
    match read_provider_id(provider_id):
        case HostByName(namespace, name) if f"{namespace}/{name}" != host.name:
            yield Mismatch(what, f"{namespace}/{name}", host.name)
        case HostByUid(uid) | HostByName(uid=uid) if uid and uid != host.uid:
            yield Mismatch(what, uid, host.uid)
        case _:
            return


def _prove(identity_facts: IdentityFacts) -> Matched | Unproven | NotHere:
    """Return the proof of identity, given that no fact differs and no other Node has the same ones."""
    host, node, machine = identity_facts.host, identity_facts.node, identity_facts.machine
    if machine is None and node is not None and node.machine:
        return Unproven(f"the Machine {node.machine} that the Node names is gone")
    if gap := _gap_to_host(host, machine):
        return Unproven(gap)
    if node is None:
        return _prove_without_node(identity_facts)
    if machine is not None and (gap := _gap_between(node, machine)):
        return Unproven(gap)
    if host.system_uuid and not node.system_uuid:
        return Unproven("the host states a system UUID, and the Node states none")
    matches = frozenset(_matches(node, machine, host))
    if not matches:
        return Unproven(_no_tie(node, machine))
    # Without a Machine, the host was found by the provider ID.
    found = (
        matches
        | {_PROVIDER_ID if machine is None else _THROUGH}
        | ({_ASKED} if identity_facts.asked_uid else set())
    )
    return Matched(tuple(tie for tie in _ORDER if tie in found))


def _prove_without_node(identity_facts: IdentityFacts) -> Matched | Unproven | NotHere:
    """Return the proof when no Node exists, so none can be released here.

    The host is switched only if its Node was recorded before, or can be in no other cluster.
    """
    machine = identity_facts.machine
    if machine is None:
        return Unproven("there is neither a Node nor a Machine that names it")
    if identity_facts.recorded or machine.of_this_cluster:
        return Matched((_THROUGH, _ASKED) if identity_facts.asked_uid else (_THROUGH,))
    return NotHere(machine.name, machine.node)


def _gap_to_host(host: HostIdentityFacts, machine: MachineIdentityFacts | None) -> str:
    """Return where the chain from the host to its Machine and back is broken; empty if it is complete."""
    if machine is None:
        return f"{host.consumer} uses it, and the Node names no Machine" if host.consumer else ""
    if not host.consumer:
        return "the host names no consumer"
    if not machine.host:
        return f"{machine.consumer} names no host"
    if machine.owner_uid == "":
        return f"{machine.consumer} belongs to no Machine"
    return ""


def _gap_between(node: NodeIdentityFacts, machine: MachineIdentityFacts) -> str:
    """Return where the chain from the Machine to its Node and back is broken; empty if it is complete."""
    if not machine.node:
        return f"the Machine {machine.name} names no Node"
    if not node.machine:
        return (
            f"the Node {node.name} does not state that it belongs to the Machine {machine.name}; "
            "it may be another cluster's that has such a Node"
        )
    if machine.system_uuid and not node.system_uuid:
        return "the Machine states a system UUID, and the Node states none"
    return ""


def _matches(
    node: NodeIdentityFacts, machine: MachineIdentityFacts | None, host: HostIdentityFacts | None
) -> Iterator[str]:
    """Yield the facts that the Node and the other side both have. They are already known not to differ."""
    if machine is not None and read_text(node.provider_id) and any(map(read_text, machine.provider_ids)):
        yield _PROVIDER_ID
    others = (machine.system_uuid if machine else "", host.system_uuid if host else "")
    if read_uuid(node.system_uuid) and any(map(read_uuid, others)):
        yield _SYSTEM_UUID


def _no_tie(node: NodeIdentityFacts, machine: MachineIdentityFacts | None) -> str:
    if machine is None:
        return "its provider ID names the host, but the host does not state the Node's system UUID"
    return (
        f"the Node {node.name} and the Machine {machine.name} state neither the same provider ID nor the "
        "same system UUID; it may be another cluster's that has such a Node"
    )

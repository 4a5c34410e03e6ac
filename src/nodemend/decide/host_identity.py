"""Whether a host, a Machine and a Node are one machine. A wrong answer would switch off the wrong machine,
and then certify that the sick one is dead.

The chain host, consumer, Machine, Node is followed in both directions, and the Node itself must state a clue
that the other side states too: a provider ID or a system UUID. Silence is not agreement, and names alone tie
nothing: another cluster may use the same ones. No other Node may state the same clues.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nodemend.decide.facts import Absent, Present, Seen, Unreadable

_METAL3: Final = "metal3://"
_OPENSHIFT: Final = "baremetalhost:///"
LONGEST_PROVIDER_ID: Final = 640
"""Characters. A longer one counts as none. This has room for any namespace and two names."""
LONGEST_UUID: Final = 64
"""Characters, with hyphens and blanks."""
_NO_UUIDS: Final = frozenset({"03000200040005000006000700080009", "0123456789abcdef0123456789abcdef"})
"""What boards say whose maker never wrote one."""

_PROVIDER_ID: Final = "provider ID"
_THROUGH: Final = "consumer reference"
_ASKED: Final = "Machine UID"
_SYSTEM_UUID: Final = "system UUID"
_ORDER: Final = (_PROVIDER_ID, _THROUGH, _ASKED, _SYSTEM_UUID)


@dataclass(frozen=True, slots=True)
class ByName:
    """A provider ID that names its host: metal3://NAMESPACE/HOST/METAL3MACHINE, and OpenShift's."""

    namespace: str
    name: str
    uid: str = ""
    """OpenShift's says that too."""


@dataclass(frozen=True, slots=True)
class ByUid:
    """The older form, metal3://UID."""

    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClues:
    """What a Node states. An empty string: it states nothing."""

    name: str
    provider_id: str = ""
    system_uuid: str = ""
    machine: str = ""
    """NAMESPACE/NAME of its Machine, by its annotations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineClues:
    """What a Machine states, and its Metal3Machine where its project has those."""

    name: str
    """NAMESPACE/NAME."""
    uid: str
    node: str = ""
    """The name of its Node, by its status."""
    provider_ids: tuple[str, ...] = ()
    """By the Machine and by the Metal3Machine."""
    system_uuid: str = ""
    """Of its Node, as Cluster API found it in the Machine's own cluster."""
    consumer: str = ""
    """KIND NAMESPACE/NAME that the host should name as its consumer."""
    host: str = ""
    """NAMESPACE/NAME of its host."""
    owner_uid: str | None = None
    """The UID of the Machine that owns the Metal3Machine; None where there is no Metal3Machine."""
    of_this_cluster: bool = False
    """Its project keeps Machines only in the cluster whose Nodes they are, as OpenShift does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostClues:
    name: str
    """NAMESPACE/NAME."""
    uid: str
    consumer: str = ""
    """KIND NAMESPACE/NAME of who uses the host, by its own consumer reference."""
    system_uuid: str = ""
    """By the annotation that an admin sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    host: HostClues
    node: NodeClues | None = None
    machine: MachineClues | None = None
    asked_uid: str = ""
    """The UID of the Machine that the remediation belongs to; empty where it belongs to none."""
    recorded: bool = False
    """The remediation recorded this host for its Node before that Node was deleted."""


@dataclass(frozen=True, slots=True)
class Matched:
    """`by` what, for the reader of the evidence."""

    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two that should state the same do not."""

    what: str
    said: str
    actual: str


@dataclass(frozen=True, slots=True)
class Unproven:
    """Nothing contradicts it, and nothing shows it either."""

    missing: str


@dataclass(frozen=True, slots=True)
class NotHere:
    """A Machine whose Node is not in this cluster."""

    machine: str
    node: str
    """Empty where the Machine names none."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Several Nodes state the same provider ID, host or system UUID."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """The other Nodes cannot be read."""

    why: str


Identity = Matched | Mismatch | Unproven | NotHere | Shared | Unknown


def ties_of(identity: Identity) -> tuple[str, ...]:
    """What ties the node to the host; nothing where it is not its own."""
    return identity.by if isinstance(identity, Matched) else ()


def read_provider_id(text: str) -> ByName | ByUid | None:
    """None when it is none of metal3's."""
    text = read_text(text)
    for prefix in (_METAL3, _OPENSHIFT):
        if text.startswith(prefix):
            parts = text.removeprefix(prefix).split("/")
            if len(parts) >= 2 and all(parts[:2]):
                uid = parts[2] if prefix == _OPENSHIFT and len(parts) > 2 else ""
                return ByName(parts[0], parts[1], uid)
            return ByUid(parts[0]) if prefix == _METAL3 and parts[0] else None
    return None


def read_text(provider_id: str) -> str:
    """A provider ID as it is compared; empty for none, and for one that is too long."""
    return provider_id.strip() if len(provider_id) <= LONGEST_PROVIDER_ID else ""


def read_uuid(text: str) -> str:
    """A system UUID as it is compared; empty for what is none, and for what many boards say alike."""
    digits = text.strip().replace("-", "").lower() if len(text) <= LONGEST_UUID else ""
    known = len(digits) == 32 and not digits.strip("0123456789abcdef")
    return digits if known and len(set(digits)) > 1 and digits not in _NO_UUIDS else ""


def hardware_id(system_uuid: str, machine_id: str) -> str:
    """Which machine reports a Node: by its board, else by its disk; empty where it states neither."""
    if uuid := read_uuid(system_uuid):
        return f"system-uuid/{uuid}"
    text = machine_id.strip().lower()
    return f"machine-id/{text}" if 0 < len(text) <= 64 else ""


def node_claims(provider_id: str, system_uuid: str) -> frozenset[str]:
    """What a Node states that no other Node may state."""
    return frozenset((*_provider_claims(provider_id), *_uuid_claims(system_uuid)))


def claims(clues: Clues) -> frozenset[str]:
    """All that the Node, its Machine and the host state, and that no other Node may."""
    host, node, machine = clues.host, clues.node, clues.machine
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
        case ByName(namespace, name, uid):
            yield f"host {namespace}/{name}"
            if uid:
                yield f"host {uid}"
        case ByUid(uid):
            yield f"host {uid}"
        case None:
            return


def _uuid_claims(system_uuid: str) -> Iterator[str]:
    if uuid := read_uuid(system_uuid):
        yield f"system UUID {uuid}"


def identify(clues: Clues, others: Seen[tuple[str, ...]]) -> Identity:
    """Whether to switch this host for this Node. `others` are the other Nodes that state one of `claims`."""
    wrong = next(_differences(clues), None)
    if wrong is not None:
        return wrong
    if clues.asked_uid and clues.machine is None:
        return Unproven("the Machine that it was asked for is gone")
    match others:
        case Unreadable(why):
            return Unknown(why)
        case Present(names) if names:
            return Shared((clues.node.name if clues.node else "a Node that is not here", *names))
        case Present() | Absent():
            return _prove(clues)


def identify_node(node: NodeClues, machine: MachineClues) -> Matched | Mismatch | Unproven:
    """Whether a Node of this cluster is the Machine's, wherever its host is."""
    wrong = next(_differences_of_node(node, machine), None)
    if wrong is not None:
        return wrong
    if gap := _gap_between(node, machine):
        return Unproven(gap)
    ties = tuple(_ties(node, machine, None))
    return Matched(ties) if ties else Unproven(_no_tie(node, machine))


def _differences(clues: Clues) -> Iterator[Mismatch]:
    host, node, machine = clues.host, clues.node, clues.machine
    if machine is not None:
        yield from _differ("the Machine that it was asked for", clues.asked_uid, machine.uid)
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


def _differences_of_node(node: NodeClues, machine: MachineClues) -> Iterator[Mismatch]:
    yield from _differ("the node of the machine", machine.node, node.name)
    yield from _differ("the Machine of the node", node.machine, machine.name)
    for one in machine.provider_ids:
        yield from _differ("the provider ID", read_text(one), read_text(node.provider_id))
    yield from _differ_uuid(machine.system_uuid, node.system_uuid)


def _differ(what: str, said: str, actual: str) -> Iterator[Mismatch]:
    """Where one of them states nothing, they do not differ."""
    if said and actual and said.lower() != actual.lower():
        yield Mismatch(what, said, actual)


def _differ_uuid(said: str, actual: str) -> Iterator[Mismatch]:
    """With or without hyphens it is the same. What is no UUID must still be the same text."""
    if read_uuid(said) != read_uuid(actual) or not read_uuid(said):
        yield from _differ("the system UUID", said, actual)


def _wrong_host(provider_id: str, host: HostClues) -> Iterator[Mismatch]:
    what = "the host in the provider ID"
    match read_provider_id(provider_id):
        case ByName(namespace, name) if f"{namespace}/{name}" != host.name:
            yield Mismatch(what, f"{namespace}/{name}", host.name)
        case ByUid(uid) | ByName(uid=uid) if uid and uid != host.uid:
            yield Mismatch(what, uid, host.uid)
        case _:
            return


def _prove(clues: Clues) -> Matched | Unproven | NotHere:
    """Nothing differs, and no other Node states the same."""
    host, node, machine = clues.host, clues.node, clues.machine
    if machine is None and node is not None and node.machine:
        return Unproven(f"the Machine {node.machine} that the Node names is gone")
    if gap := _gap_to_host(host, machine):
        return Unproven(gap)
    if node is None:
        return _prove_without_node(clues)
    if machine is not None and (gap := _gap_between(node, machine)):
        return Unproven(gap)
    if host.system_uuid and not node.system_uuid:
        return Unproven("the host states a system UUID, and the Node states none")
    ties = frozenset(_ties(node, machine, host))
    if not ties:
        return Unproven(_no_tie(node, machine))
    # Without a Machine it is the provider ID by which the host was found.
    found = ties | {_PROVIDER_ID if machine is None else _THROUGH} | ({_ASKED} if clues.asked_uid else set())
    return Matched(tuple(tie for tie in _ORDER if tie in found))


def _prove_without_node(clues: Clues) -> Matched | Unproven | NotHere:
    """No Node is released here. The host is switched only if its Node was known, or can be nowhere else."""
    machine = clues.machine
    if machine is None:
        return Unproven("there is neither a Node nor a Machine that names it")
    if clues.recorded or machine.of_this_cluster:
        return Matched((_THROUGH, _ASKED) if clues.asked_uid else (_THROUGH,))
    return NotHere(machine.name, machine.node)


def _gap_to_host(host: HostClues, machine: MachineClues | None) -> str:
    """Where the chain from the host to its Machine and back is broken; empty where it is whole."""
    if machine is None:
        return f"{host.consumer} uses it, and the Node names no Machine" if host.consumer else ""
    if not host.consumer:
        return "the host names no consumer"
    if not machine.host:
        return f"{machine.consumer} names no host"
    if machine.owner_uid == "":
        return f"{machine.consumer} belongs to no Machine"
    return ""


def _gap_between(node: NodeClues, machine: MachineClues) -> str:
    """Where the chain from the Machine to its Node and back is broken."""
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


def _ties(node: NodeClues, machine: MachineClues | None, host: HostClues | None) -> Iterator[str]:
    """What the Node and the other side both state. They are known not to differ."""
    if machine is not None and read_text(node.provider_id) and any(map(read_text, machine.provider_ids)):
        yield _PROVIDER_ID
    others = (machine.system_uuid if machine else "", host.system_uuid if host else "")
    if read_uuid(node.system_uuid) and any(map(read_uuid, others)):
        yield _SYSTEM_UUID


def _no_tie(node: NodeClues, machine: MachineClues | None) -> str:
    if machine is None:
        return "its provider ID names the host, but the host does not state the Node's system UUID"
    return (
        f"the Node {node.name} and the Machine {machine.name} state neither the same provider ID nor the "
        "same system UUID; it may be another cluster's that has such a Node"
    )

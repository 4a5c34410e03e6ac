"""Whether a host is the machine that a node runs on. A wrong answer would switch off the wrong machine, and
then certify that the sick one is dead."""

from dataclasses import dataclass

_METAL3 = "metal3://"
_OPENSHIFT = "baremetalhost:///"


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
class Clues:
    """What several objects say about the same pair. An empty string: that one says nothing."""

    host: str
    """NAMESPACE/NAME of the host that is asked about."""
    host_uid: str
    host_consumer: str = ""
    """KIND NAMESPACE/NAME of who uses the host, by its own consumer reference."""
    host_system_uuid: str = ""
    node: str = ""
    node_provider_id: str = ""
    node_system_uuid: str = ""
    machine_node: str = ""
    """The node of the machine, by its status."""
    machine: str = ""
    """KIND NAMESPACE/NAME that should be that consumer."""
    machine_host: str = ""
    """NAMESPACE/NAME of its host, by its annotation."""
    machine_provider_id: str = ""
    machine_uid: str = ""
    asked_uid: str = ""
    """The UID of the Machine that the remediation belongs to."""


@dataclass(frozen=True, slots=True)
class Matched:
    """`by` what, for whoever reads the evidence."""

    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two that should say the same do not."""

    what: str
    said: str
    actual: str


@dataclass(frozen=True, slots=True)
class Unproven:
    """Nothing contradicts it, and nothing shows it either."""

    missing: str


Identity = Matched | Mismatch | Unproven


def ties_of(identity: Identity) -> tuple[str, ...]:
    """What ties the node to the host; nothing where it is not its own."""
    match identity:
        case Matched(by):
            return by
        case Mismatch() | Unproven():
            return ()


def read_provider_id(text: str) -> ByName | ByUid | None:
    """None when it is none of metal3's."""
    for prefix in (_METAL3, _OPENSHIFT):
        if text.startswith(prefix):
            parts = text.removeprefix(prefix).split("/")
            if len(parts) >= 2 and all(parts[:2]):
                uid = parts[2] if prefix == _OPENSHIFT and len(parts) > 2 else ""
                return ByName(parts[0], parts[1], uid)
            return ByUid(parts[0]) if prefix == _METAL3 and parts[0] else None
    return None


def identify(clues: Clues) -> Identity:
    """Every clue that is there must agree, and two must tie both ends: the node to its host, or to a machine
    that both name."""
    wrong = next((pair for pair in _pairs(clues) if pair.differs), None) or _wrong_host(clues)
    if wrong is not None:
        return Mismatch(wrong.what, wrong.said, wrong.actual)
    if clues.asked_uid and not clues.machine_uid:
        return Unproven("the Machine that it was asked for is gone")
    if by := _ties(clues):
        return Matched(by)
    return Unproven("neither the node's provider ID nor a machine of its own names the host")


@dataclass(frozen=True, slots=True)
class _Pair:
    what: str
    said: str
    actual: str

    @property
    def differs(self) -> bool:
        """Where one of them says nothing, they do not differ."""
        return bool(self.said and self.actual) and self.said.lower() != self.actual.lower()


def _pairs(clues: Clues) -> tuple[_Pair, ...]:
    return (
        _Pair("the Machine that it was asked for", clues.asked_uid, clues.machine_uid),
        _Pair("the consumer of the host", clues.machine, clues.host_consumer),
        _Pair("the host of the machine", clues.machine_host, clues.host),
        _Pair("the node of the machine", clues.machine_node, clues.node),
        _Pair("the provider ID", clues.machine_provider_id, clues.node_provider_id),
        _Pair("the system UUID", clues.host_system_uuid, clues.node_system_uuid),
    )


def _wrong_host(clues: Clues) -> _Pair | None:
    for text in (clues.node_provider_id, clues.machine_provider_id):
        match read_provider_id(text):
            case ByName(namespace, name) if f"{namespace}/{name}" != clues.host:
                return _Pair("the host in the provider ID", f"{namespace}/{name}", clues.host)
            case ByUid(uid) | ByName(uid=uid) if uid and uid != clues.host_uid:
                return _Pair("the host in the provider ID", uid, clues.host_uid)
            case _:
                continue
    return None


def _ties(clues: Clues) -> tuple[str, ...]:
    """What was found to agree, once the node is tied to the host; nothing when it is not."""
    provider = "provider ID" if read_provider_id(clues.node_provider_id) else ""
    through = ""
    # A machine that does not name the node ties the host to itself alone.
    of_node = clues.machine_node or not clues.node
    if of_node and clues.machine and clues.host_consumer and clues.machine_host:
        through = "consumer reference"
    if not provider and not through:
        return ()
    uuid = "system UUID" if clues.host_system_uuid and clues.node_system_uuid else ""
    machine = "Machine UID" if clues.asked_uid and clues.machine_uid else ""
    return tuple(tie for tie in (provider, through, machine, uuid) if tie)

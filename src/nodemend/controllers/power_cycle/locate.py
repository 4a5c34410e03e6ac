"""From a remediation to the Machine, the Node and the host that it is about. Each answer is a fresh read."""

from dataclasses import dataclass, replace
from typing import Final

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import BARE_METAL_HOST, Resource
from nodemend.api.machine import Machine, Metal3Machine
from nodemend.api.node import Node
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.power_cycle import HeldHost
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.controllers.remediating.node_names import is_machine, machine_clues
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.host_identity import ByName, ByUid, MachineClues, read_provider_id
from nodemend.kube.api_outcome import Ok
from nodemend.kube.machine_dialect import CLUSTER_API, OPENSHIFT
from nodemend.kube.paged_list import list_all

_INFRASTRUCTURE: Final = "infrastructure.cluster.x-k8s.io"
_VERSIONS: Final = ("v1beta2", "v1beta1")


@dataclass(frozen=True, slots=True)
class Behind:
    """A Machine, and its Metal3Machine where its project has those."""

    resource: Resource
    machine: Machine
    metal3: Metal3Machine | None = None

    @property
    def bearer(self) -> ObjectMeta:
        """Which of them names the host, and is its consumer."""
        return self.metal3.metadata if self.metal3 else self.machine.metadata

    @property
    def consumer(self) -> str:
        kind = "Metal3Machine" if self.metal3 else self.resource.kind
        return f"{kind} {self.bearer.namespace}/{self.bearer.name}"

    @property
    def host(self) -> tuple[str, str] | None:
        """Namespace and name. The namespace in the annotation is not heeded by newer metal3 either."""
        said = self.bearer.annotations.get(keys.HOST_OF_MACHINE, "")
        name = said.rpartition("/")[2]
        return (self.bearer.namespace, name) if name else None

    @property
    def clues(self) -> MachineClues:
        found = machine_clues(self.machine, self.resource.group)
        if self.metal3 is not None:
            owners = self.metal3.metadata.owner_references
            owner_uid = next((one.uid for one in owners if is_machine(one)), "")
            provider_ids = (*found.provider_ids, self.metal3.spec.provider_id)
            found = replace(found, owner_uid=owner_uid, provider_ids=provider_ids)
        return replace(found, consumer=self.consumer, host="/".join(self.host or ()))


@dataclass(frozen=True, slots=True)
class Missing:
    """There is none, and why."""

    why: str


class Locator:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def behind_remediation(self, metadata: ObjectMeta) -> Seen[Behind]:
        """The Machine that it belongs to; Absent where it belongs to none, or that one is gone."""
        owner = next((one for one in metadata.owner_references if is_machine(one)), None)
        if owner is None:
            return Absent()
        group, _, version = owner.api_version.partition("/")
        found = await self._machine(_machines(group, version), owner.name, metadata.namespace)
        if isinstance(found, Present) and found.value.machine.metadata.uid != owner.uid:
            return Absent()
        return found

    async def behind_node(self, node: Node) -> Seen[Behind]:
        """The Machine that a Node says to belong to."""
        said = node.metadata.annotations
        if address := said.get(keys.OPENSHIFT_MACHINE_OF_NODE):
            namespace, _, name = address.partition("/")
            return await self._machine(_machines(OPENSHIFT, "v1beta1"), name, namespace)
        name, namespace = said.get(keys.MACHINE_OF_NODE, ""), said.get(keys.NAMESPACE_OF_CLUSTER, "")
        found: Seen[Behind] = Absent()
        for version in _VERSIONS if name and namespace else ():
            found = await self._machine(_machines(CLUSTER_API, version), name, namespace)
            if not isinstance(found, Absent):
                break
        return found

    async def _machine(self, resource: Resource, name: str, namespace: str) -> Seen[Behind]:
        found = seen(await self._reader.get(resource, name, Machine, namespace))
        if not isinstance(found, Present):
            return found
        machine = found.value
        named = machine.spec.infrastructure_ref
        if named is None or named.kind != "Metal3Machine":
            return Present(Behind(resource, machine))
        metal3 = await self._metal3_machine(named.api_version, named.name, namespace)
        match metal3:
            case Present(bearer):
                return Present(Behind(resource, machine, bearer))
            case Unreadable():
                return metal3
            case Absent():
                return Present(Behind(resource, machine))

    async def _metal3_machine(self, api_version: str, name: str, namespace: str) -> Seen[Metal3Machine]:
        version = api_version.partition("/")[2]
        found: Seen[Metal3Machine] = Absent()
        for one in (version,) if version else _VERSIONS:
            resource = Resource(_INFRASTRUCTURE, one, "Metal3Machine", "metal3machines")
            found = seen(await self._reader.get(resource, name, Metal3Machine, namespace))
            if not isinstance(found, Absent):
                break
        return found

    async def known_host(self, held: HeldHost) -> Seen[BareMetalHost]:
        """The very one; Absent also when another has taken its name."""
        found = seen(await self._reader.get(BARE_METAL_HOST, held.name, BareMetalHost, held.namespace))
        if isinstance(found, Present) and found.value.metadata.uid != held.uid:
            return Absent()
        return found

    async def host(self, behind: Behind | None, node: Node | None) -> Seen[BareMetalHost] | Missing:
        """By the machine where there is one, else by the node's provider ID."""
        if behind is not None:
            if behind.host is None:
                return Missing(f"{behind.consumer} names none")
            return await self._host_named(*behind.host)
        match read_provider_id(node.spec.provider_id) if node is not None else None:
            case ByName(namespace, name):
                return await self._host_named(namespace, name)
            case ByUid(uid):
                return await self._host_with(uid)
            case None:
                return Missing("it has no Machine, and the node's provider ID names no host")

    async def _host_named(self, namespace: str, name: str) -> Seen[BareMetalHost] | Missing:
        found = seen(await self._reader.get(BARE_METAL_HOST, name, BareMetalHost, namespace))
        return (
            Missing(f"there is no BareMetalHost {namespace}/{name}") if isinstance(found, Absent) else found
        )

    async def _host_with(self, uid: str) -> Seen[BareMetalHost] | Missing:
        listed = await list_all(
            self._reader.client, BARE_METAL_HOST, BareMetalHost, deadline=self._reader.deadline
        )
        if not isinstance(listed, Ok):
            return Unreadable(str(listed))
        host = next((one for one in listed.value.items if one.metadata.uid == uid), None)
        return Present(host) if host is not None else Missing(f"no BareMetalHost has the UID {uid}")


def _machines(group: str, version: str) -> Resource:
    return Resource(group, version, "Machine", "machines")

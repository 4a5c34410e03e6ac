"""A check with a template: the printed remediation is created, and deleted when the Machine is healthy."""

from collections.abc import Callable
from functools import partial
from typing import Final

from controlplane.api import Api, Object
from tests.e2e.seeds import examples
from tests.e2e.seeds.worlds import METAL3, World
from tests.integration import machine_objects as played

NODES: Final = (examples.MACHINE, "metal-1", "metal-2", "metal-3")
REMEDIATIONS: Final = f"/apis/{METAL3}/v1alpha1/namespaces/{examples.METAL}/metal3remediations"
_UNPRINTED: Final = ("releaseBy",)
_ITS_OWN: Final = ("name", "namespace", "finalizers", "ownerReferences")

AddMachine = Callable[[str], Object]


def tell(world: World, design: str, machines: str) -> None:
    """`machines` is their version.

    Machines whose node is gone are unhealthy, as the examples name no other reason.
    """
    add = _cluster_api(world.api) if machines == played.CLUSTER_API else _openshift(world.api)
    for node in NODES:
        played.add_node(world.api, node)
    (uid, *_) = [str(add(node)["metadata"]["uid"]) for node in NODES]
    world.apply(examples.template(design))
    world.apply(examples.external_check(design))
    story = _SeedStory(world, f"/apis/{machines}/namespaces/{examples.METAL}/machines/{examples.MACHINE}")
    world.holds("all Machines are counted", story.counted, within=90.0)

    world.api.delete(f"/api/v1/nodes/{examples.MACHINE}")
    world.holds("its Node is gone: a remediation is made", partial(story.are, [examples.MACHINE]))
    printed = examples.remediation(design, machines, uid)
    story.begin(printed)
    world.holds("it is the printed one", partial(story.is_as, printed))
    world.stays("nothing else is done about the Machine", story.is_left_alone, 5.0)

    played.add_node(world.api, examples.MACHINE)
    world.holds("the Node is back: the remediation is deleted", story.is_ending)
    story.end()
    world.holds("and gone", partial(story.are, []))


def _cluster_api(api: Api) -> AddMachine:
    owner = played.add_cluster(api, examples.METAL)
    return lambda node: played.add_cluster_api_machine(api, examples.METAL, node, {"role": "metal"}, owner)


def _openshift(api: Api) -> AddMachine:
    return lambda node: played.add_openshift_machine(api, examples.METAL, node, {"role": "metal"})


class _SeedStory:
    """The remediation.

    The shipped remediator does not run: the test writes its statuses as the designs print them.
    """

    def __init__(self, world: World, machine: str) -> None:
        self._world = world
        self._api = world.api
        self._machine = machine
        self._path = f"{REMEDIATIONS}/{examples.MACHINE}"

    def counted(self) -> bool:
        checks = f"/apis/cluster.x-k8s.io/v1alpha3/namespaces/{examples.METAL}/machinehealthchecks"
        (check,) = self._api.list(checks)
        status = check.get("status", {})
        return (status.get("expectedMachines"), status.get("currentHealthy")) == (len(NODES), len(NODES))

    def are(self, names: list[str]) -> bool:
        return [one["metadata"]["name"] for one in self._api.list(REMEDIATIONS)] == names

    def begin(self, printed: Object) -> None:
        self._api.patch(self._path, {"metadata": {"finalizers": printed["metadata"]["finalizers"]}})
        self._world.remediator.patch(f"{self._path}/status", {"status": printed["status"]})

    def is_as(self, printed: Object) -> bool:
        found = self._api.get(self._path)
        metadata = {key: found["metadata"].get(key) for key in _ITS_OWN}
        # Fields that the designs do not print have their defaults, which the API server adds.
        spec = {key: value for key, value in found["spec"].items() if key not in _UNPRINTED}
        return {**{key: found.get(key) for key in printed}, "metadata": metadata, "spec": spec} == printed

    def is_left_alone(self) -> bool:
        machine = self._api.get(self._machine)
        conditions = machine.get("status", {}).get("conditions") or ()
        asked = any(one["type"] == "OwnerRemediated" for one in conditions)
        return "deletionTimestamp" not in machine["metadata"] and not asked

    def is_ending(self) -> bool:
        return "deletionTimestamp" in self._api.get(self._path)["metadata"]

    def end(self) -> None:
        self._api.patch(self._path, {"metadata": {"finalizers": []}})

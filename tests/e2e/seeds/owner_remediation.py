"""Machine health checking without a template: unhealthy Machines get conditions for their owner."""

from functools import partial
from typing import Final

from tests.e2e.seeds import examples
from tests.e2e.seeds.worlds import World
from tests.integration import machine_objects as played

NODES: Final = tuple(f"worker-{number}" for number in range(5))
_MARKS: Final = ("HealthCheckSucceeded", "OwnerRemediated")
FAILED: Final = {"HealthCheckSucceeded": "False"}
ASKED: Final = {"HealthCheckSucceeded": "False", "OwnerRemediated": "False"}


def tell(world: World) -> None:
    check = examples.owner_check()
    story = _SeedStory(world, check["metadata"]["namespace"], check["metadata"]["name"])
    owner = played.add_cluster(world.api, story.space)
    for node in NODES:
        played.add_node(world.api, node)
        played.add_cluster_api_machine(world.api, story.space, node, {"role": "worker"}, owner)
    world.apply(check)
    world.holds("its status is the printed one", partial(story.counts, check["status"]), within=90.0)

    for node, status in ((NODES[0], "Unknown"), (NODES[1], "False")):
        played.show(world.api, node, status)
        world.stays(f"Ready={status} for less than its timeout marks nobody", partial(story.marked, {}), 6.0)
        world.holds(
            f"Ready={status} for longer marks that Machine for its owner, and no other",
            partial(story.marked, {node: ASKED}),
        )
        played.show(world.api, node, "True")
        world.holds("the node is back: the owner is asked no longer", partial(story.marked, {}))

    sick = (NODES[2], NODES[3])
    for node, status in zip(sick, ("Unknown", "False"), strict=True):
        played.show(world.api, node, status)
    both = dict.fromkeys(sick, FAILED)
    world.holds("2 of 5 fail their check, which is told", partial(story.marked, both))
    world.stays("at 40% nothing is remediated", partial(story.marked, both), 15.0)
    world.holds("the check says so", story.is_closed)
    played.show(world.api, NODES[3], "True")
    world.holds("below 40% it goes on", partial(story.marked, {NODES[2]: ASKED}))
    played.show(world.api, NODES[2], "True")
    world.holds("its status is the printed one again", partial(story.counts, check["status"]))


class _SeedStory:
    def __init__(self, world: World, space: str, name: str) -> None:
        self.space = space
        self._api = world.api
        self._check = f"/apis/cluster.x-k8s.io/v1alpha3/namespaces/{space}/machinehealthchecks/{name}"

    def counts(self, printed: dict[str, int]) -> bool:
        status = self._api.get(self._check).get("status", {})
        return {key: status.get(key) for key in printed} == printed

    def is_closed(self) -> bool:
        conditions = self._api.get(self._check)["status"]["conditions"]
        said = [one for one in conditions if one["type"] == "RemediationAllowed"]
        return [(one["status"], one["reason"]) for one in said] == [("False", "TooManyUnhealthy")]

    def marked(self, wanted: dict[str, dict[str, str]]) -> bool:
        """True if exactly these Machines fail their check, each with these conditions."""
        found = {}
        for machine in self._api.list(f"/apis/{played.CLUSTER_API}/namespaces/{self.space}/machines"):
            conditions = machine.get("status", {}).get("conditions") or ()
            marks = {one["type"]: one["status"] for one in conditions if one["type"] in _MARKS}
            if "False" in marks.values():
                found[machine["metadata"]["name"]] = marks
        return found == wanted

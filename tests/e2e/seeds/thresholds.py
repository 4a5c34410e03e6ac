"""Node remedy: its two thresholds as NodeHealthChecks, from the page that shows both."""

import re
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from controlplane.api import Api
from tests.e2e.seeds.examples import PRINTED, Substitution
from tests.e2e.seeds.worlds import REMEDIES, World
from tests.integration import machine_objects as played

PAGE: Final = Path(__file__).parents[3] / "docs" / "how-to" / "node_remedy_thresholds.md"
SHORTER: Final = Substitution("period: 10m", "period: 10s", "so that nobody waits")
TEMPLATES: Final = {
    "repair": "Repair",
    "terminate": "Terminate",
    "storage-fence": "StorageFence",
    "recovery": "Recovery",
}
SPACE: Final = "node-remedy"
COMPUTE: Final = tuple(f"compute-{number}" for number in range(4))
STORAGE: Final = tuple(f"storage-{number}" for number in range(4))


def blocks() -> list[str]:
    """The blocks of the page in order: the design's, Nodemend's, the design's, Nodemend's."""
    return re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)


def as_printed() -> bool:
    """True if the page shows the design's exact text."""
    printed = (PRINTED / "node-remedy.yaml").read_text()
    return all(block in printed for block in blocks()[::2])


def our_checks() -> list[dict[str, Any]]:
    ready, pressure = blocks()[1::2]
    if SHORTER.printed not in pressure:
        raise ValueError(f"the page has no {SHORTER.printed!r} to be substituted")
    shorter = pressure.replace(SHORTER.printed, SHORTER.ours)
    return [yaml.safe_load(ready), yaml.safe_load(shorter)]


def tell(world: World) -> None:
    world.holds("the page shows the thresholds as they are printed", as_printed)
    for names, kind in ((COMPUTE, "compute"), (STORAGE, "storage-optimized")):
        for node in names:
            played.add_node(world.api, node, type=kind)
    for name, kind in TEMPLATES.items():
        spec = {"template": {"spec": {"podTemplate": {"spec": {"containers": [{"name": name}]}}}}}
        world.api.create(played.a_thing(f"{REMEDIES}/v1", f"{kind}Template", name, spec, SPACE))
    for check in our_checks():
        world.apply(check)
    are = partial(_are, world.api)
    world.holds("both checks count their nodes", partial(_counted, world.api), within=90.0)

    played.show(world.api, STORAGE[0], "True", DiskPressure="True")
    world.stays("DiskPressure for less than its period asks for nothing", partial(are, "StorageFence"), 7.0)
    world.holds("for longer: storage-fence", partial(are, "StorageFence", STORAGE[0]))
    played.show(world.api, COMPUTE[0], "False")
    world.holds("Ready=False for 5 s: repair", partial(are, "Repair", COMPUTE[0]))
    world.stays("while it is tried there is no terminate", partial(are, "Terminate"), 5.0)
    failed = {"conditions": [{"type": "Succeeded", "status": "False"}]}
    world.api.patch(f"{_path('Repair')}/{COMPUTE[0]}/status", {"status": failed})
    world.holds("repair failed: terminate", partial(are, "Terminate", COMPUTE[0]))
    world.holds("never both", partial(are, "Repair"))

    for node in (COMPUTE[0], STORAGE[0]):
        played.show(world.api, node, "True", DiskPressure="False")
    world.holds("Ready again: terminate is over", partial(are, "Terminate"), within=90.0)
    world.holds("no DiskPressure any more: storage-fence is over", partial(are, "StorageFence"))
    world.holds("both are well: recovery, once for each", partial(are, "Recovery", COMPUTE[0], STORAGE[0]))
    world.holds("the checks say so", partial(_recovering, world.api, "Running"))
    succeeded = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    for node in (COMPUTE[0], STORAGE[0]):
        world.api.patch(f"{_path('Recovery')}/{node}/status", {"status": succeeded})
    world.holds("recovery succeeded, and is over", partial(are, "Recovery"))
    world.holds("nothing is owed any more", partial(_recovering, world.api))
    world.stays("and nothing is done twice", partial(are, "Recovery"), 5.0)


def _path(kind: str) -> str:
    return f"/apis/{REMEDIES}/v1/namespaces/{SPACE}/{kind.lower()}s"


def _are(api: Api, kind: str, *names: str) -> bool:
    return [one["metadata"]["name"] for one in api.list(_path(kind))] == list(names)


def _recovering(api: Api, *phases: str) -> bool:
    """True if each check has recoveries in exactly these phases."""
    checks = api.list("/apis/nodemend.io/v1alpha1/nodehealthchecks")
    found = [[one["phase"] for one in check["status"].get("recoveries", ())] for check in checks]
    return found == [list(phases)] * len(checks)


def _counted(api: Api) -> bool:
    checks = api.list("/apis/nodemend.io/v1alpha1/nodehealthchecks")
    return [check.get("status", {}).get("healthy") for check in checks] == [len(STORAGE), len(COMPUTE)]

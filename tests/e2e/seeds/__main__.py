"""`python -m tests.e2e.seeds`: the examples of the designs do what the designs say. Exits 1 if not."""

import sys
from collections.abc import Callable

from tests.e2e.seeds import external_remediation, owner_remediation, thresholds
from tests.e2e.seeds.examples import PRINTED
from tests.e2e.seeds.worlds import Counts, World, a_world
from tests.integration.machine_objects import CLUSTER_API, OPENSHIFT

Story = Callable[[World], None]


def on_cluster_api(world: World) -> None:
    external_remediation.tell(world, "machine-health-checking", CLUSTER_API)


def on_openshift(world: World) -> None:
    external_remediation.tell(world, "external-remediations", OPENSHIFT)


STORIES: dict[str, dict[str, Story]] = {
    "cluster-api": {
        "machine health checking, by the owner": owner_remediation.tell,
        "machine health checking, by a template": on_cluster_api,
        "node remedy, its thresholds": thresholds.tell,
    },
    "openshift": {"external remediations": on_openshift},
}
"""By the project whose Machines there are."""


def main() -> int:
    counts = Counts()
    for project, stories in STORIES.items():
        with a_world(project, counts) as world:
            for title, tell in stories.items():
                print(f"{title}:", flush=True)
                try:
                    tell(world)
                except TimeoutError as error:
                    print(f"MISS {error}")
    examples = len(list(PRINTED.iterdir()))
    print(
        f"seeds: {examples} printed examples of 3 designs, {counts.held} of their statements hold,"
        f" {len(counts.misses)} do not"
    )
    return 1 if counts.misses else 0


if __name__ == "__main__":
    sys.exit(main())

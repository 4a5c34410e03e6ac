"""`python -m tests.e2e.refusals.check_refusals`: bad policies and checks, refused by the API server alone.

There is no webhook: the schemas and their rules refuse. Exits 1 on a single miss.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from functools import partial
from textwrap import dedent
from typing import Any, Final

import yaml

from controlplane.api import Api, collection
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from foreign_kinds.install import install_definitions
from generate.outputs import FLAT, ROOT
from installed.manifests import install
from tests.e2e.refusals.bad_machine_checks import ALSO_GOOD, BAD_MACHINE_CHECKS, MACHINE_CHECK
from tests.e2e.refusals.bad_spec import BadSpec
from tests.e2e.refusals.bad_specs import BAD_SPECS, CHECK, POLICY
from tests.e2e.refusals.trial import Trial

AT_LEAST: Final = 60
KINDS: Final = ("RemediationPolicy", "NodeHealthCheck", "MachineHealthCheck")
WITHOUT_EFFECT: Final = {"dryRun": "All", "fieldValidation": "Strict"}
WEBHOOKS: Final = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
PAGE: Final = ROOT / "docs" / "how-to" / "machine_health_checks.md"
BAD: Final = tuple(bad for bad in (*BAD_SPECS, *BAD_MACHINE_CHECKS) if bad.good["kind"] in KINDS)


def try_all() -> Trial:
    with ControlPlane(API_SERVER_ALONE) as plane:
        install(plane)
        install_definitions(plane, [yaml.safe_load(FLAT.read_text())])
        trial = Trial()
        _good(plane.api, trial)
        _bad(plane.api, trial, BAD)
        _changed(plane.api, trial)
        for kind in WEBHOOKS:
            if plane.api.list(f"/apis/admissionregistration.k8s.io/v1/{kind}"):
                trial.misses.append(f"there are {kind}")
    return trial


def _good(api: Api, trial: Trial) -> None:
    """Without these the refusals would prove nothing."""
    for good in (CHECK, POLICY, MACHINE_CHECK):
        trial.accepts(f"a good {good['kind']}", partial(_try, api, good))
    trial.accepts(f"the example of {PAGE.name}", partial(_try, api, _shown()))
    for what, change in ALSO_GOOD.items():
        changed: dict[str, Any] = deepcopy(MACHINE_CHECK)
        spec = changed["spec"] | change
        changed["spec"] = {field: value for field, value in spec.items() if value is not None}
        trial.accepts(f"a MachineHealthCheck with {what}", partial(_try, api, changed))


def _shown() -> dict[str, Any]:
    """The check that the page shows, in a namespace that is there."""
    found = re.search(r"^    apiVersion: cluster.*?\n\n", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError(f"{PAGE} shows no check")
    check: dict[str, Any] = yaml.safe_load(dedent(found[0]))
    return {**check, "metadata": {**check["metadata"], "namespace": "default"}}


def _bad(api: Api, trial: Trial, every: Iterable[BadSpec]) -> None:
    for bad in every:
        trial.refuses(bad.title, partial(_try, api, bad.manifest), *bad.says)


def _changed(api: Api, trial: Trial) -> None:
    """Changes of immutable fields."""
    path = f"{collection(MACHINE_CHECK)}/workers"
    api.create(MACHINE_CHECK)
    words = ("spec.clusterName", "cannot be changed: create another check for another cluster")
    for name in ("test", None):
        attempt = partial(api.patch, path, {"spec": {"clusterName": name}})
        trial.refuses(f"a MachineHealthCheck moved to {name or 'no cluster'}", attempt, *words)
    trial.accepts("another limit", partial(api.patch, path, {"spec": {"maxUnhealthy": 1}}))


def _try(api: Api, manifest: dict[str, Any]) -> object:
    return api.request("POST", collection(manifest), manifest, query=WITHOUT_EFFECT)


def main() -> int:
    trial = try_all()
    for miss in trial.misses:
        print(f"MISS {miss}")
    kinds = Counter(bad.good["kind"] for bad in BAD)
    print(", ".join(f"{kinds[kind]} of {kind}" for kind in KINDS))
    print(
        f"check-refusals: {trial.refused} bad documents refused with the right words and no webhook"
        f" (bar {AT_LEAST}), {trial.accepted} good ones accepted, {len(trial.misses)} misses"
    )
    return 1 if trial.misses or trial.refused < AT_LEAST else 0


if __name__ == "__main__":
    sys.exit(main())

"""Another policy in the place of the one in force."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from nodemend.api.crds import schema_of_kind
from nodemend.api.meta import Wire
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import Mode, RemediationPolicy
from nodemend.cli.simulate.input import (
    DocumentsError,
    Snapshot,
    as_if_acting,
    predicate_of,
    refuse_bad_limits,
    with_file,
)
from tests.unit.cli.simulate.clusters import Object, check, edge_cluster, node, policy, remedy
from tests.unit.cli.simulate.simulated import a_snapshot


def tried(*objects: Object, on: Snapshot | None = None) -> Snapshot:
    return with_file(on or a_snapshot(edge_cluster()), yaml.safe_dump_all(objects).encode())


def test_a_policy_replaces_the_one_in_force() -> None:
    snapshot = tried(policy(maxConcurrent=3))

    assert snapshot.policy is not None
    assert (snapshot.policy.spec.max_concurrent, snapshot.policy.spec.failure_domains) == (3, None)
    assert len(snapshot.checks) == 2


def test_a_check_replaces_the_one_of_its_name_and_keeps_its_identity() -> None:
    written = check("workers", maxUnhealthy=1, remedies=[remedy("NodeFence")])
    written["metadata"] = {"name": "workers"}
    snapshot = tried(written, check("gpu"))
    checks = {found.metadata.name: found for found in snapshot.checks}

    assert list(checks) == ["workers", "control-plane", "gpu"]
    assert checks["workers"].spec.max_unhealthy == 1
    assert checks["workers"].metadata.uid == "uid-workers"
    assert {asked.kind for asked in snapshot.kinds} == {"ManualRemediationTemplate", "NodeFenceTemplate"}


def test_as_if_acting_overrides_pauses_of_operators() -> None:
    pause = {"reason": "swap"}
    snapshot = as_if_acting(
        a_snapshot([node("n1"), check("c", dryRun=True, pause=pause), policy(mode="DryRun", pause=pause)])
    )

    assert snapshot.policy is not None
    assert (snapshot.policy.spec.mode, snapshot.policy.spec.pause) == (Mode.ACT, None)
    assert (snapshot.checks[0].spec.dry_run, snapshot.checks[0].spec.pause) == (False, None)
    without = as_if_acting(a_snapshot([node("n1")])).policy
    assert without is not None
    assert without.spec.mode is Mode.ACT


@pytest.mark.parametrize(
    ("objects", "wrong"),
    [
        ([node("n1")], "neither a RemediationPolicy nor a NodeHealthCheck"),
        ([policy(), policy()], "more than one RemediationPolicy"),
        ([policy(maxUnhealty="40%")], "RemediationPolicy with a field that there is not: spec.maxUnhealty"),
        ([policy(failureDomains={"label": "a"})], "not: spec.failureDomains.label"),
        ([check("c", thresholds=[{"typ": "Ready"}])], r"not: spec.thresholds\[0\].typ"),
        ([policy(maxConcurrent=0)], "cannot be read"),
        ([policy(settleTime="soon")], "cannot be read"),
    ],
)
def test_a_file_that_would_not_mean_what_its_author_thinks_is_refused(
    objects: list[Object], wrong: str
) -> None:
    with pytest.raises(DocumentsError, match=wrong):
        tried(*objects)


@pytest.mark.parametrize(
    "written",
    [
        policy(maxUnhealthy="many"),
        policy(failureDomains={"maxUnhealthy": "x"}),
        check("c", maxUnhealthy="1 %"),
    ],
)
def test_an_invalid_limit_is_refused(written: Object) -> None:
    with pytest.raises(ValueError, match="is no limit"):
        refuse_bad_limits(a_snapshot([node("n1"), written]))
    refuse_bad_limits(a_snapshot(edge_cluster()))
    with pytest.raises(DocumentsError, match="maxUnhealthy must be a count such as 3"):
        tried(written)


READY = {"type": "Ready", "status": "Unknown", "period": "5m"}


@pytest.mark.attack("U9")
@pytest.mark.parametrize(
    ("written", "why"),
    [
        (check("c", thresholds=[{**READY, "status": "True"}]), r"thresholds\[0\] must be Unknown or False"),
        (check("c", thresholds=[{**READY, "period": "10s"}]), r"thresholds\[0\] must be at least 40s"),
        (check("c", remedies=[remedy("NodeFence"), remedy("NodeFence")]), "must have a different kind"),
        (check("c", remedies=[remedy("NodeFence", timeout="30s")]), "must be at least 1m"),
        (check("c", selector={"matchLabels": {"-a": "b"}}), "each key must be a label key"),
        (check("c", selector={"matchExpressions": [{"key": "a", "operator": "In"}]}), "at least one value"),
        (check("c", maxUnhealthy="[1-3]"), "must be a count such as 3"),
        (policy(settleTime="0s"), "must be a duration longer than zero"),
        (policy(failureDomains={"key": "a b"}), "must be a label key"),
        ({**policy(), "metadata": {"name": "mine"}}, "metadata.name must be cluster"),
        ({**check("c"), "metadata": {}}, "metadata.name must not be empty"),
        ({**check("c"), "apiVersion": "nodemend.io/v9"}, "is no nodemend.io/v1alpha1"),
        ({**check("c"), "apiVersion": "remediation.medik8s.io/v1alpha1"}, "is no nodemend.io/v1alpha1"),
    ],
)
def test_a_file_that_the_api_server_refuses_is_not_simulated(written: Object, why: str) -> None:
    with pytest.raises(DocumentsError, match=why):
        tried(written)


@pytest.mark.parametrize("kind", [NodeHealthCheck, RemediationPolicy])
def test_every_rule_of_the_kinds_that_a_file_may_have_is_known(kind: type[Wire]) -> None:
    def rules(schema: Any) -> Iterator[Any]:
        if isinstance(schema, dict):
            yield from schema.get("x-kubernetes-validations", ())
            for part in schema.values():
                yield from rules(part)

    schema = schema_of_kind(kind)
    found = [*schema.get("x-kubernetes-validations", ()), *rules(schema["properties"]["spec"])]
    assert len(found) >= 7
    for rule in found:
        predicate_of(rule)

"""Documents of Nodemend's own kinds.

Values come from small pools, so that confirmations and statuses often match.
"""

from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from tests.simulation.differential.samples import BAD_METADATA, Document, Sample, metadata_change

DEPLOY: Final = Path(__file__).parents[3] / "deploy"
CHECK_LABEL: Final = {"labels": {"nodemend.io/check": "c1"}, "annotations": {"nodemend.io/check-uid": "x"}}


def definitions() -> list[Document]:
    """Return the CRDs that ship."""
    return [yaml.safe_load(path.read_text()) for path in sorted((DEPLOY / "crds").glob("*.yaml"))]


def policies() -> list[Document]:
    """Return the admission policies and their bindings that are installed."""
    documents = yaml.safe_load_all((DEPLOY / "manifests" / "install.yaml").read_text())
    return [one for one in documents if one and one["kind"].startswith("ValidatingAdmissionPolicy")]


def _token(random: Random) -> Document:
    return {
        "by": random.choice(("admin", "carol", "carol", "dave")),
        "reason": "pulled the plug",
        "nodeUID": random.choice(("u1", "u1", "u1", "u2")),
        "bootID": random.choice(("b1", "b1", "b1", "b2")),
        "lastRenewTime": random.choice(("t1", "t1", "t1", "t2")),
    }


def _remediation(random: Random) -> Document:
    spec: Document = {}
    if random.random() < 0.4:
        spec["instructions"] = "go and look"
    if random.random() < 0.05:
        spec["confirmation"] = _token(random)
    made: Document = {"spec": spec} if spec or random.random() < 0.5 else {}
    metadata: Document = {}
    if random.random() < 0.5:
        metadata |= CHECK_LABEL
    if random.random() < 0.3:
        metadata["finalizers"] = ["nodemend.io/safe-end"]
    return {**made, "metadata": metadata}


def _remediation_change(random: Random) -> Document:
    kind = random.randrange(10)
    if kind < 5:
        return {"spec": {"confirmation": _token(random)}}
    if kind == 5:
        return {"spec": {"confirmation": None}}
    if kind == 6:
        return {"spec": {"instructions": random.choice(("something else", None))}}
    if kind == 7:
        return {"metadata": {"labels": {"nodemend.io/check": random.choice(("c1", "c2", None))}}}
    if kind == 8:
        return {"metadata": {"finalizers": random.choice((["nodemend.io/safe-end"], None))}}
    return {"metadata": metadata_change(random)}


def _remediation_status(random: Random) -> Document:
    evidence = {"class": random.choice(("E5", "E5", "E1")), **_token(random)}
    condition = {
        "type": "Processing",
        "status": random.choice(("True", "False")),
        "reason": "Said",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    shown = {"nodeUID": "u1", "bootID": random.choice(("b1", "b1", "b2")), "lastRenewTime": "t1"}
    return {
        "status": random.choice(
            (
                {"epoch": random.randrange(4)},
                {"epoch": random.randrange(4), **shown},
                shown,
                shown,
                {"nodeUID": random.choice(("u1", "u2", None))},
                {"bootID": random.choice(("b1", "b2", None))},
                {"evidence": evidence},
                {"evidence": evidence},
                {"evidence": None},
                {"tainted": random.choice((True, False))},
                {"evidence": evidence, "tainted": True},
                {"released": random.choice((True, False))},
                {"phase": random.choice(("Pending", "Releasing", "Succeeded"))},
                {"conditions": [condition]},
            )
        )
    }


def _bad_remediation(random: Random) -> Document:
    confirmation = _token(Random(1))
    return random.choice(
        (
            {"spec": {"confirmation": {**confirmation, "by": ""}}},
            {"spec": {"confirmation": {"by": "carol"}}},
            {"spec": {"confirmation": "yes"}},
            {"spec": {"instructions": "x" * 4097}},
            {"spec": {"instructions": 7}},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


def _bad_remediation_status(random: Random) -> Document:
    return {
        "status": random.choice(
            (
                {"epoch": -1},
                {"epoch": "1"},
                {"phase": "Dancing"},
                {"evidence": {"class": "E5"}},
                {"podsLeft": -2},
                {"conditions": [{"type": "A", "status": "True"}]},
                {"tainted": "yes"},
            )
        )
    }


def _policy(random: Random) -> Document:
    return {"spec": _policy_part(random)} if random.random() < 0.8 else {}


def _policy_part(random: Random) -> Document:
    return random.choice(
        (
            {"mode": random.choice(("Act", "DryRun"))},
            {"maxConcurrent": random.choice((1, 2))},
            {"pause": {"reason": "storm", "by": random.choice(("admin", "ann", ""))}},
            {"pause": {"reason": "storm"}},
        )
    )


def _policy_change(random: Random) -> Document:
    if random.random() < 0.2:
        return {"spec": {"pause": None}}
    return {"spec": _policy_part(random)}


def _bad_policy(random: Random) -> Document:
    return random.choice(
        (
            {"spec": {"mode": "Rage"}},
            {"spec": {"maxConcurrent": 0}},
            {"spec": {"maxConcurrent": "1"}},
            {"spec": {"pause": {}}},
            {"spec": {"pause": {"reason": ""}}},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


def _plain_status(random: Random) -> Document:
    return {"status": {"observedGeneration": random.randrange(3)}}


def _check(random: Random) -> Document:
    return {
        "spec": {
            "selector": random.choice(({}, {"matchLabels": {"app": "a"}})),
            "thresholds": [
                {"type": "Ready", "status": "Unknown", "period": random.choice(("5m", "90s"))},
                *([{"type": "Disk", "status": "False", "period": "1h"}] if random.random() < 0.4 else []),
            ],
            "remedies": [
                {
                    "template": {
                        "apiVersion": "nodemend.io/v1alpha1",
                        "kind": "ManualRemediationTemplate",
                        "name": random.choice(("t1", "t2")),
                        "namespace": "diff-a",
                    }
                }
            ],
        }
    }


def _check_change(random: Random) -> Document:
    if random.random() < 0.5:
        return {"spec": {"pause": random.choice((None, {"reason": "swap"}, {"reason": "swap", "by": "ann"}))}}
    spec: dict[str, Any] = _check(random)["spec"]
    name = random.choice(("selector", "thresholds", "healthyDelay"))
    return {"spec": {name: "45s" if name == "healthyDelay" else spec[name]}}


def _bad_check(random: Random) -> Document:
    return random.choice(
        (
            {"spec": {"thresholds": []}},
            {"spec": {"remedies": None}},
            {"spec": {"thresholds": [{"type": "Ready"}]}},
            {"spec": {"thresholds": [{"type": "Disk", "status": "Maybe", "period": "5m"}]}},
            {"spec": {"selector": {"matchLabels": {"a": 1}}}},
            {"spec": "none"},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


def _order(random: Random) -> Document:
    spec: Document = {
        "by": random.choice(("admin", "admin", "ann", "carol")),
        "reason": random.choice(("bad disk", "CHG-7")),
        "nodeUID": random.choice(("u1", "u2")),
    }
    if random.random() < 0.5:
        spec["pastGuard"] = random.choice((True, True, False))
    return {"spec": spec}


def _order_change(random: Random) -> Document:
    field = random.choice(("by", "reason", "pastGuard"))
    if random.random() < 0.5:
        return {"spec": {field: _order(random)["spec"].get(field)}}
    return {"metadata": metadata_change(random)}


def _bad_order(random: Random) -> Document:
    return random.choice(
        (
            {"spec": {"reason": ""}},
            {"spec": {"pastGuard": "yes"}},
            {"spec": {"nodeUID": 7}},
            {"spec": "now"},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


def _template(random: Random) -> Document:
    instructions = {"instructions": random.choice(("look", "pull the plug"))}
    return {"spec": random.choice(({"template": {"spec": instructions}}, {"template": {}}, {}))}


def _bad_template(random: Random) -> Document:
    confirmation = _token(Random(1))
    return random.choice(
        (
            {"spec": {"template": {"spec": {"instructions": 7}}}},
            {"spec": {"template": {"spec": {"confirmation": confirmation}}}},
            {"spec": {"template": "none"}},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


GROUP: Final = "nodemend.io/v1alpha1"
REMEDIATIONS = Sample(
    "/apis/nodemend.io/v1alpha1/namespaces/{}/manualremediations",
    GROUP,
    "ManualRemediation",
    ("n1", "n2"),
    _remediation,
    _remediation_change,
    _remediation_status,
    _bad_remediation,
    _bad_remediation_status,
    users=("admin", "admin", "remediator", "checker", "confirmer", "confirmer", "writer"),
    status_users=("remediator",) * 8 + ("admin", "checker"),
)
POLICIES = Sample(
    "/apis/nodemend.io/v1alpha1/remediationpolicies",
    GROUP,
    "RemediationPolicy",
    ("cluster", "cluster", "cluster", "other"),
    _policy,
    _policy_change,
    _plain_status,
    _bad_policy,
    users=("admin", "admin", "writer"),
)
CHECKS = Sample(
    "/apis/nodemend.io/v1alpha1/nodehealthchecks",
    GROUP,
    "NodeHealthCheck",
    ("c1", "c2"),
    _check,
    _check_change,
    _plain_status,
    _bad_check,
    users=("admin", "admin", "writer"),
)
TEMPLATES = Sample(
    "/apis/nodemend.io/v1alpha1/namespaces/{}/manualremediationtemplates",
    GROUP,
    "ManualRemediationTemplate",
    ("t1", "t2"),
    _template,
    _template,
    None,
    _bad_template,
)
ORDERS = Sample(
    "/apis/nodemend.io/v1alpha1/remediationorders",
    GROUP,
    "RemediationOrder",
    ("n1", "n2"),
    _order,
    _order_change,
    None,
    _bad_order,
    users=("admin", "admin", "writer", "confirmer", "checker"),
)

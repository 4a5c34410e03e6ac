"""Documents of Metal3Remediation and its template. Values come from small pools, so that they often match."""

from random import Random
from typing import Final

from tests.simulation.differential.our_samples import CHECK_LABEL
from tests.simulation.differential.samples import BAD_METADATA, Document, Sample, metadata_change

GROUP: Final = "remediation.metal3.io/v1alpha1"
HOST: Final = {"namespace": "metal", "name": "rack-7"}
BACKUP: Final = {
    "labels": {"rack": "7"},
    "annotations": {"team": "storage"},
    "taints": [{"key": "gpu", "effect": "NoSchedule", "value": "a100"}],
    "unschedulable": True,
}


def _spec(random: Random) -> Document:
    return random.choice(
        (
            {},
            {"strategy": random.choice(("escalate", "retry"))},
            {"deleteAfterRetries": random.choice((0, 10)), "powerOffTimeoutSeconds": 120},
            {"releaseBy": random.choice(("out-of-service-taint", "node-deletion"))},
        )
    )


def _remediation(random: Random) -> Document:
    made: Document = {"spec": _spec(random)} if random.random() < 0.8 else {}
    metadata: Document = {}
    if random.random() < 0.5:
        metadata |= CHECK_LABEL
    if random.random() < 0.3:
        metadata["finalizers"] = ["nodemend.io/safe-end"]
    return {**made, "metadata": metadata}


def _change(random: Random) -> Document:
    kind = random.randrange(5)
    if kind == 0:
        return {"spec": _spec(random)}
    if kind == 1:
        return {"spec": None}
    if kind == 2:
        return {"metadata": {"labels": {"nodemend.io/check": random.choice(("c1", "c2", None))}}}
    if kind == 3:
        return {"metadata": {"finalizers": random.choice((["nodemend.io/safe-end"], None))}}
    return {"metadata": metadata_change(random)}


def _host(random: Random) -> Document:
    return {**HOST, "uid": random.choice(("h1", "h1", "h1", "h2"))}


def _status(random: Random) -> Document:
    evidence = {
        "class": "E1",
        "nodeUID": random.choice(("u1", "u1", "u1", "u2")),
        "bootID": random.choice(("b1", "b1", "b1", "b2")),
        **({"host": _host(random)} if random.random() < 0.8 else {}),
    }
    shown = {"nodeUID": "u1", "bootID": random.choice(("b1", "b1", "b2")), "host": _host(random)}
    return {
        "status": random.choice(
            (
                {"epoch": random.randrange(4)},
                {"epoch": random.randrange(4), **shown},
                shown,
                shown,
                {"nodeUID": random.choice(("u1", "u2", None))},
                {"bootID": random.choice(("b1", "b2", None))},
                {"host": random.choice((_host(random), None))},
                {"evidence": evidence},
                {"evidence": evidence, "tainted": True},
                {"evidence": None},
                {"evidence": None, "tainted": False},
                {"tainted": random.choice((True, False))},
                {"released": random.choice((True, False))},
                {"backup": random.choice((BACKUP, {"labels": {"rack": "8"}}, {}, None))},
                {"retryCount": random.choice((0, 1, 1, 2, 3))},
                {"phase": random.choice(("pending", "power-off", "release", "power-on", "failed"))},
            )
        )
    }


def _bad(random: Random) -> Document:
    return random.choice(
        (
            {"spec": {"strategy": "hope"}},
            {"spec": {"deleteAfterRetries": -1}},
            {"spec": {"releaseBy": "prayer"}},
            {"spec": {"powerOffTimeoutSeconds": 5}},
            {"spec": {"powerOnTimeoutSeconds": "600"}},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


def _bad_status(random: Random) -> Document:
    return {
        "status": random.choice(
            (
                {"epoch": -1},
                {"phase": "dancing"},
                {"retryCount": -1},
                {"host": {"name": "rack-7"}},
                {"evidence": {"class": "E9", "nodeUID": "u1", "bootID": "b1"}},
                {"tainted": "yes"},
                {"backup": {"labels": {"rack": 7}}},
                {"backup": {"taints": [{"key": "gpu"}]}},
                {"backup": {"labels": {"rack": "x" * 64}}},
            )
        )
    }


def _template(random: Random) -> Document:
    return {"spec": random.choice(({"template": {"spec": _spec(random)}}, {"template": {}}, {}))}


def _bad_template(random: Random) -> Document:
    return random.choice(
        ({"spec": {"template": {"spec": {"strategy": "hope"}}}}, {"spec": {"template": "none"}})
    )


POWER_REMEDIATIONS: Final = Sample(
    "/apis/remediation.metal3.io/v1alpha1/namespaces/{}/metal3remediations",
    GROUP,
    "Metal3Remediation",
    ("m1", "m2"),
    _remediation,
    _change,
    _status,
    _bad,
    _bad_status,
    users=("admin", "admin", "remediator", "checker", "writer"),
    status_users=("remediator",) * 8 + ("admin", "checker"),
)
POWER_TEMPLATES: Final = Sample(
    "/apis/remediation.metal3.io/v1alpha1/namespaces/{}/metal3remediationtemplates",
    GROUP,
    "Metal3RemediationTemplate",
    ("t1", "t2"),
    _template,
    _template,
    None,
    _bad_template,
)

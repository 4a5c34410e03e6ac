"""Documents of SelfRemediation. Values come from small pools, so that they often match."""

from random import Random
from typing import Final

from tests.simulation.differential.our_samples import CHECK_LABEL, GROUP
from tests.simulation.differential.samples import BAD_METADATA, Document, Sample, metadata_change

LEASE: Final = {"uid": "l1", "version": "7"}
PEER: Final = {"name": "p1", "nodeUID": "u9", "bootID": "b9", "acknowledged": 3, "milliseconds": 1000}
NEEDED: Final = 60


def _spec(random: Random) -> Document:
    return random.choice(({}, {"safeTimeSeconds": 90}, {"safeTimeSeconds": 120}))


def _remediation(random: Random) -> Document:
    made: Document = {"spec": _spec(random)} if random.random() < 0.8 else {}
    metadata: Document = {}
    if random.random() < 0.5:
        metadata |= CHECK_LABEL
    if random.random() < 0.3:
        metadata["finalizers"] = ["nodemend.io/safe-end"]
    return {**made, "metadata": metadata}


def _change(random: Random) -> Document:
    kind = random.randrange(4)
    if kind == 0:
        return {"spec": _spec(random)}
    if kind == 1:
        return {"spec": None}
    if kind == 2:
        return {"metadata": {"finalizers": random.choice((["nodemend.io/safe-end"], None))}}
    return {"metadata": metadata_change(random)}


def _proof(random: Random) -> Document:
    """Return a proof by time in one of its states: started, almost complete, complete or void."""
    return {
        "marked": random.choice((LEASE, LEASE, LEASE, {**LEASE, "version": "8"}, None)),
        "safeTimeSeconds": random.choice((0, NEEDED, NEEDED, NEEDED)),
        "provenSeconds": random.choice((0, NEEDED - 1, NEEDED, NEEDED)),
        "proven": random.choice(([], [PEER])),
    }


def _status(random: Random) -> Document:
    evidence = {
        "class": random.choice(("E4", "E4", "E2", "E1")),
        "nodeUID": random.choice(("u1", "u1", "u1", "u2")),
        "bootID": random.choice(("b1", "b1", "b1", "b2")),
    }
    shown = {"nodeUID": "u1", "bootID": random.choice(("b1", "b1", "b1", "b2"))}
    return {
        "status": random.choice(
            (
                {"epoch": random.randrange(4)},
                {"epoch": random.randrange(4), **shown},
                shown,
                {**shown, **_proof(random)},
                {**shown, **_proof(random)},
                {**shown, **_proof(random), "evidence": evidence},
                {**shown, **_proof(random), "evidence": evidence, "tainted": True},
                {"nodeUID": random.choice(("u1", "u2", None))},
                {"bootID": random.choice(("b1", "b2", None))},
                {"contradicted": random.choice((True, False, None))},
                {"evidence": evidence},
                {"evidence": None},
                {"evidence": None, "tainted": False},
                {"tainted": random.choice((True, False))},
                {"released": random.choice((True, False))},
            )
        )
    }


def _bad(random: Random) -> Document:
    return random.choice(
        (
            {"spec": {"safeTimeSeconds": -1}},
            {"spec": {"safeTimeSeconds": "60"}},
            {"spec": "now"},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


def _bad_status(random: Random) -> Document:
    return {
        "status": random.choice(
            (
                {"epoch": -1},
                {"phase": "Dancing"},
                {"marked": {"uid": "l1"}},
                {"provenSeconds": -1},
                {"proven": [{**PEER, "milliseconds": -1}]},
                {"evidence": {"class": "E9", "nodeUID": "u1", "bootID": "b1"}},
                {"contradicted": "yes"},
            )
        )
    }


SELF_REMEDIATIONS: Final = Sample(
    "/apis/nodemend.io/v1alpha1/namespaces/{}/selfremediations",
    GROUP,
    "SelfRemediation",
    ("s1", "s2"),
    _remediation,
    _change,
    _status,
    _bad,
    _bad_status,
    users=("admin", "admin", "remediator", "checker", "writer"),
    status_users=("remediator",) * 8 + ("admin", "checker"),
)

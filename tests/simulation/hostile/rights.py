"""Rights are missing for a while, and so is a policy: an account writes what the policy prevents."""

from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import LEASE, NODE
from nodemend.kube.request import Method
from simulation.api_server.admission import User
from simulation.api_server.policies import CHECKER
from simulation.cluster.direct import Direct
from simulation.cluster.world import Account
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind
from tests.simulation.hostile.versions import UNKNOWN, unlock

READS: Final[tuple[str, ...]] = (
    "nodes",
    "leases",
    "pods",
    "volumeattachments",
    "manualremediations",
    "metal3remediations",
    "baremetalhosts",
    "remediationpolicies",
    "machines",
    "fixes",
)
WRITES: Final = (
    (Method.PATCH, "nodes"),
    (Method.PATCH, "status"),
    (Method.POST, "leases"),
    (Method.PATCH, "leases"),
    (Method.DELETE, "leases"),
    (Method.PATCH, "baremetalhosts"),
    (Method.POST, "manualremediations"),
    (Method.POST, "fixes"),
)
REMEDIATIONS: Final = ("manualremediations", "metal3remediations")
LASTS: Final = (20.0, 90.0, 200.0)


def plan(around: Around) -> None:
    around.at_some_times(5, lambda: _lose(around))
    if around.machines:
        around.at_some_times(2, lambda: _miss_policy(around))


def _lose(around: Around) -> None:
    """Remove a right, as a narrowed role does; most often the right to read one kind."""
    chance = around.chance
    right = (Method.GET, chance.choice(READS)) if chance.random() < 0.7 else chance.choice(WRITES)
    replica = chance.choice(around.replicas)
    if around.machines and around.busy() and chance.random() < 0.5:
        # Prefer the remediator and its active remediations.
        right, replica = (Method.GET, chance.choice(REMEDIATIONS)), around.replicas[-1]
    account = around.account_of(replica)
    around.note(f"{account.user.name} may not {right[0]} {right[1]} for a while")
    account.forbidden.add(right)
    for one in around.replicas:
        if around.account_of(one) is account:
            around.endpoints[one.name].begin(Kind.RIGHTS)
    around.later(lambda: account.forbidden.discard(right), LASTS)


def _miss_policy(around: Around) -> None:
    """Without the policy on accounts, let the checker write a lock that names a holder without it."""
    kind = next(one for one in around.server._kinds if one.resource == LEASE)
    node = around.api.get(NODE, around.pick())
    if node is None:
        return
    rules, kind.rules = kind.rules, ()
    uid, token = node["metadata"]["uid"], around.token(Kind.RIGHTS)
    who = around.chance.choice(("", "ManualRemediation", f"ManualRemediation default/{token}", UNKNOWN))
    metadata = {"name": f"node-{uid}", "annotations": {well_known.HOLDER: who, "example.com/token": token}}
    checker = Direct(Account(around.server, User(CHECKER)))
    around.note(f"without its policy the checker locks {node['metadata']['name']} as {who!r}")
    try:
        if checker.get(LEASE, f"node-{uid}", well_known.SYSTEM_NAMESPACE) is None:
            checker.create(
                LEASE, {"metadata": metadata, "spec": {"holderIdentity": token}}, well_known.SYSTEM_NAMESPACE
            )
            around.counts.make(Kind.RIGHTS, token)
            around.later(lambda: unlock(around, f"node-{uid}", token), (400.0,))
    finally:
        kind.rules = rules

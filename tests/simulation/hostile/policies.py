"""Our admission policies are deleted, narrowed or not asked for a while, and the shipped proofs look at them.

The simulated server does not interpret CEL: what a policy demands is a function, and a denial of it counts
while policy and binding stand in the store as shipped. A fault counts when a program finds a doubt by it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from nodemend.api import keys
from nodemend.api.admission_policy import AdmissionBinding, AdmissionPolicy
from nodemend.api.group_versions import (
    ADMISSION_BINDING,
    ADMISSION_POLICY,
    BARE_METAL_HOST,
    LEASE,
    Resource,
)
from nodemend.controllers.admission_duties import duty_of_checker, duty_of_remediator
from nodemend.controllers.admission_proof import Admission
from nodemend.decide.admission_policies import ALWAYS, OF_SELF_FENCING, Doubt, Fingerprint
from nodemend.decide.guard_holds import PolicyNotInForce
from nodemend.decide.shipped_policies import SHIPPED
from nodemend.kube.policy_fingerprint import fingerprint_binding, fingerprint_policy
from nodemend.testing.api_server.admission import AdmissionRule, Attempt, Denial, PolicyDenial
from nodemend.testing.api_server.policies import CHECKER, REMEDIATOR
from nodemend.testing.cluster.direct import Object
from nodemend.testing.cluster.foreign_kinds import a_definition
from tests.simulation.hostile.kinds import Kind, Tally
from tests.simulation.hostile.surroundings import Around
from tests.simulation.settling import InvariantBrokenError

INSTALL: Final = Path(__file__).parents[3] / "deploy" / "manifests" / "install.yaml"
KINDS: Final = {"policy": ADMISSION_POLICY, "binding": ADMISSION_BINDING}
ROLES: Final = {CHECKER: "checker", REMEDIATOR: "remediator"}
LASTS: Final = (90.0, 400.0, 700.0, 1000.0)
PROOF_COUNTS: Final = 180.0
"""Seconds, by decision 70: for so long after its last proof a program may act on it."""
DECIDED_WITHIN: Final = 76.0
"""Seconds: whatever a write was decided on was so at some moment within these before it."""
NOT_ASKED: Final = 0.2
"""Of the faults: the API server asks no policy at all, and all of them read as shipped."""
ACCOUNTS: Final = "nodemend-accounts"
"""Every program tries it, whatever there is in the cluster."""
ELSEWHERE: Final = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}}}
OTHERS: Final = [
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
]
NEVER: Final = [{"name": "never", "expression": "false"}]
NARROWED: Final[Sequence[tuple[str, Object]]] = (
    ("policy", {"matchConstraints": {"resourceRules": OTHERS}}),
    ("policy", {"matchConditions": NEVER}),
    ("policy", {"validations": [{"expression": "true"}]}),
    ("policy", {"failurePolicy": "Ignore"}),
    ("binding", {"validationActions": ["Audit"]}),
    ("binding", {"matchResources": ELSEWHERE}),
    ("binding", {"policyName": "another"}),
)
STILL_DENIES: Final = "failurePolicy"


@dataclass(frozen=True, slots=True)
class _Recorder:
    role: str
    tell: Callable[[str, Mapping[str, Doubt | None]], None]

    def proved(self, doubts: Mapping[str, Doubt | None]) -> None:
        self.tell(self.role, doubts)


class Policies:
    """Of one world: who proves which, and since when which of them are not as shipped."""

    def __init__(self, tally: Tally, *, remediator: bool = True, power_cycle: bool = False) -> None:
        """With `remediator`, of a world in which nodes fence themselves, too. Nothing without `begin`."""
        self._tally = tally
        self._names = (*ALWAYS, *(OF_SELF_FENCING if remediator else ()))
        shipped, system = _shipped(), keys.SYSTEM_NAMESPACE
        self.duties = {"checker": duty_of_checker(shipped, system, annotations=False)}
        if remediator:
            self.duties["remediator"] = duty_of_remediator(
                shipped, system, power_cycle=power_cycle, capm3_kinds=False, self_fencing=True
            )
        self.admission = {
            role: Admission(duty, _Recorder(role, self._told)) for role, duty in self.duties.items()
        }
        self._asked = True
        self._broken: dict[str, float] = {}
        """Since when each was not in force, or not as shipped."""
        self._unread: set[str] = set()
        self._found: dict[tuple[str, str], float] = {}
        """When a program first found so."""
        self._around: Around | None = None

    @property
    def around(self) -> Around:
        if self._around is None:
            raise RuntimeError("nobody has policies here")
        return self._around

    def begin(self, around: Around) -> None:
        """Before anything runs. Programs find out by themselves whether all is there."""
        self._around = around
        for resource in KINDS.values():
            definition = a_definition(resource)
            definition["spec"]["scope"] = "Cluster"
            around.server.define(definition)
        for name in self._names:
            self._put_back(name)
        for kind in around.server._kinds:
            rules = [*kind.rules, *(rule for of, rule in NOT_SIMULATED if of == kind.resource)]
            kind.rules = tuple(map(self._in_force_alone, rules))
        around.at_some_times(2, self._harm)
        around.scheduler.at(around.ceases, self._put_all_back)

    def restored(self) -> None:
        """What stands in the store is another's work now."""
        if self._around is not None:
            self._look()

    def may_begin(self, user: str, what: str) -> None:
        """I5: nothing irreversible begins without a proof, nor after a program saw that there is none."""
        role = ROLES[user]
        for name, since in self._broken.items():
            now = self.around.now
            if name not in self.duties[role].policies:
                continue
            found = self._found.get((role, name), now)
            if now - since > PROOF_COUNTS + DECIDED_WITHIN:
                told = f"{now - since:.0f} s after {name} was no longer in force"
            elif now - found > DECIDED_WITHIN:
                told = f"{now - found:.0f} s after the {role} found {name} not in force"
            else:
                continue
            raise InvariantBrokenError(f"I5: something began on {what} {told}")

    def _told(self, role: str, doubts: Mapping[str, Doubt | None]) -> None:
        for name, doubt in doubts.items():
            if doubt is None or name not in self._broken:
                continue
            if isinstance(doubt, PolicyNotInForce):
                self._found.setdefault((role, name), self.around.now)
            if name in self._unread:
                self._unread.discard(name)
                self._tally.take_effect(Kind.POLICIES)

    def _harm(self) -> None:
        around, chance = self.around, self.around.chance
        name = ACCOUNTS if chance.random() < NOT_ASKED else chance.choice(self._names)
        if name in self._broken:
            return
        if name == ACCOUNTS and chance.random() < 0.5:
            around.note("the API server asks no policies")
            self._asked = False
        elif chance.random() < 0.5:
            part = chance.choice(tuple(KINDS))
            around.note(f"the {part} {name} is deleted")
            around.api.delete(KINDS[part], name)
        else:
            part, change = chance.choice(NARROWED)
            around.note(f"the {part} {name} is narrowed: {sorted(change)}")
            around.api.patch(KINDS[part], name, {"spec": change})
        self._look()
        self._tally.made[Kind.POLICIES] += 1
        self._unread.add(name)
        around.later(lambda: self._mend(name), LASTS)

    def _mend(self, name: str) -> None:
        self.around.note(f"{name} is as shipped again")
        self._asked = self._asked or name == ACCOUNTS
        self._put_back(name)
        self._look()

    def _put_all_back(self) -> None:
        for name in self._names:
            if name in self._broken:
                self._mend(name)

    def _put_back(self, name: str) -> None:
        api = self.around.api
        for part, kind in KINDS.items():
            document = _documents()[part, name]
            found = api.get(kind, name)
            if found is not None and found["spec"] != document["spec"]:
                api.delete(kind, name)
            if found is None or found["spec"] != document["spec"]:
                api.create(kind, {"metadata": {"name": name}, "spec": document["spec"]})

    def _look(self) -> None:
        """What the store says now of each."""
        broken = {name for name in self._names if self._changed(name)}
        broken |= set() if self._asked else {ACCOUNTS}
        self._broken = {name: self._broken.get(name, self.around.now) for name in sorted(broken)}
        self._found = {key: when for key, when in self._found.items() if key[1] in broken}
        self._unread &= broken

    def _changed(self, name: str) -> set[str]:
        """The fields in which it is not as shipped."""
        changed: set[str] = set()
        for part, kind in KINDS.items():
            found, spec = self.around.api.get(kind, name), _documents()[part, name]["spec"]
            there = found["spec"] if found else {}
            changed |= {field for field in spec.keys() | there.keys() if spec.get(field) != there.get(field)}
        return changed

    def _in_force_alone(self, rule: AdmissionRule) -> AdmissionRule:
        def ask(attempt: Attempt) -> Sequence[Denial]:
            return [one for one in rule(attempt) if not isinstance(one, PolicyDenial) or self._denies(one)]

        return ask

    def _denies(self, denial: PolicyDenial) -> bool:
        return self._asked and not self._changed(denial.policy) - {STILL_DENIES}


@cache
def _documents() -> Mapping[tuple[str, str], Object]:
    """By part and name. Those of nodes that fence themselves are not in the plain manifests."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {
        (part, one["metadata"]["name"]): one
        for one in yaml.load_all(INSTALL.read_text(), loader)
        for part, kind in KINDS.items()
        if one and one["kind"] == kind.kind
    }
    for name in OF_SELF_FENCING:
        rules = [{**OTHERS[0], "resources": ["leases"]}]
        spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "false"}]}
        bound = {"policyName": name, "validationActions": ["Deny"]}
        found.setdefault(("policy", name), {"spec": spec})
        found.setdefault(("binding", name), {"spec": bound})
    return found


@cache
def _shipped() -> Mapping[str, Sequence[Fingerprint]]:
    return {**SHIPPED, **{name: (_fingerprint(name),) for name in OF_SELF_FENCING}}


def _fingerprint(name: str) -> Fingerprint:
    policy = msgspec.convert(_documents()["policy", name], AdmissionPolicy)
    binding = msgspec.convert(_documents()["binding", name], AdmissionBinding)
    seen = fingerprint_policy(policy, keys.SYSTEM_NAMESPACE)
    return Fingerprint(seen.scope, seen.demands, fingerprint_binding(binding, keys.SYSTEM_NAMESPACE))


def _hosts_policy(attempt: Attempt) -> list[Denial]:
    """The remediator changes no label of a host."""
    if attempt.user.name != REMEDIATOR or _noted(attempt.new, "labels") == _noted(attempt.old, "labels"):
        return []
    return [PolicyDenial("nodemend-hosts", "nodemend-hosts", "metadata: no label", "Forbidden")]


def _agent_leases_policy(attempt: Attempt) -> list[Denial]:
    """Nobody but its node reports in a node's name."""
    before, after = (_noted(one, "annotations").get(keys.AGENT_REPORT) for one in (attempt.old, attempt.new))
    if attempt.user.name not in ROLES or before == after:
        return []
    return [PolicyDenial("nodemend-agent-leases", "nodemend-agent-leases", "not the node", "Forbidden")]


def _noted(object_: Any, part: str) -> dict[str, Any]:
    return ((object_ or {}).get("metadata") or {}).get(part) or {}


NOT_SIMULATED: Final[Sequence[tuple[Resource, AdmissionRule]]] = (
    (BARE_METAL_HOST, _hosts_policy),
    (LEASE, _agent_leases_policy),
)
"""So much of these as our programs try."""

"""Nodemend's admission policies are deleted, narrowed or not evaluated; the real proofs check them.

The simulated server does not interpret CEL: the demands of a policy are functions, and its denial has an
effect only while policy and binding in the store are as shipped. A fault takes effect when a program reports
a doubt because of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from nodemend.api import well_known
from nodemend.api.admission_policy import AdmissionBinding, AdmissionPolicy
from nodemend.api.resources import ADMISSION_BINDING, ADMISSION_POLICY, BARE_METAL_HOST, LEASE, Resource
from nodemend.guard.policies import ALWAYS, OF_SELF_FENCING, Fingerprint
from nodemend.guard.policy_fingerprint import fingerprint_binding, fingerprint_policy
from nodemend.guard.policy_proof import Admission, requirement_of_checker, requirement_of_remediator
from nodemend.guard.shipped_policies import SHIPPED
from nodemend.safety.guard_holds import PolicyNotInForce, PolicyProblem
from simulation.api_server.admission import AdmissionRule, Attempt, Denial, PolicyDenial
from simulation.api_server.policies import CHECKER, REMEDIATOR
from simulation.cluster.direct import Object
from simulation.cluster.foreign_kinds import a_definition
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Counts, Kind

INSTALL: Final = Path(__file__).parents[3] / "deploy" / "manifests" / "install.yaml"
KINDS: Final = {"policy": ADMISSION_POLICY, "binding": ADMISSION_BINDING}
ROLES: Final = {CHECKER: "checker", REMEDIATOR: "remediator"}
LASTS: Final = (90.0, 400.0, 700.0, 1000.0)
PROOF_COUNTS: Final = 180.0
"""Seconds for which a program may act on its last proof (decision 70)."""
DECIDED_WITHIN: Final = 76.0
"""Seconds. The facts behind a write were true at some moment within this time before it."""
NOT_ASKED: Final = 0.2
"""Share of faults in which the API server evaluates no policy, although all of them read as shipped."""
ACCOUNTS: Final = "nodemend-accounts"
"""Every program tests it, in every cluster."""
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
    tell: Callable[[str, Mapping[str, PolicyProblem | None]], None]

    def proved(self, problems: Mapping[str, PolicyProblem | None]) -> None:
        self.tell(self.role, problems)


class Policies:
    """Policies of one world: the programs that prove them, and the times since which some are changed."""

    def __init__(self, counts: Counts, *, remediator: bool = True, power_cycle: bool = False) -> None:
        """Prepare the proofs; without `begin` they have no effect.

        With `remediator`, the world also has self-fencing nodes.
        """
        self._counts = counts
        self._names = (*ALWAYS, *(OF_SELF_FENCING if remediator else ()))
        shipped, system = _shipped(), well_known.SYSTEM_NAMESPACE
        self.duties = {"checker": requirement_of_checker(shipped, system, annotations=False)}
        if remediator:
            self.duties["remediator"] = requirement_of_remediator(
                shipped, system, power_cycle=power_cycle, capm3_kinds=False, self_fencing=True
            )
        self.admission = {
            role: Admission(duty, _Recorder(role, self._reported)) for role, duty in self.duties.items()
        }
        self._asked = True
        self._broken: dict[str, float] = {}
        """Time since which each policy is not active, or not as shipped."""
        self._unread: set[str] = set()
        self._found: dict[tuple[str, str], float] = {}
        """Time at which a program first found it inactive."""
        self._around: Around | None = None

    @property
    def around(self) -> Around:
        if self._around is None:
            raise RuntimeError("nobody has policies here")
        return self._around

    def begin(self, around: Around) -> None:
        """Install the policies before the run starts. The programs find out by themselves that all exist."""
        self._around = around
        for resource in KINDS.values():
            definition = a_definition(resource)
            definition["spec"]["scope"] = "Cluster"
            around.server.define(definition)
        for name in self._names:
            self._put_back(name)
        for kind in around.server._kinds:
            rules = [*kind.rules, *(rule for of, rule in NOT_SIMULATED if of == kind.resource)]
            kind.rules = tuple(map(self._active_alone, rules))
        around.at_some_times(2, self._harm)
        around.scheduler.at(around.ceases, self._put_all_back)

    def restored(self) -> None:
        """Compare the policies with the shipped ones again, because the restore may have changed them."""
        if self._around is not None:
            self._poll()

    def may_begin(self, user: str, what: str) -> None:
        """Check I5: nothing irreversible starts without a proof, or after a program found it missing."""
        role = ROLES[user]
        for name, since in self._broken.items():
            now = self.around.now
            if name not in self.duties[role].policies:
                continue
            found = self._found.get((role, name), now)
            if now - since > PROOF_COUNTS + DECIDED_WITHIN:
                reported = f"{now - since:.0f} s after {name} was no longer in force"
            elif now - found > DECIDED_WITHIN:
                reported = f"{now - found:.0f} s after the {role} found {name} not in force"
            else:
                continue
            raise InvariantBrokenError(f"I5: something began on {what} {reported}")

    def _reported(self, role: str, problems: Mapping[str, PolicyProblem | None]) -> None:
        for name, problem in problems.items():
            if problem is None or name not in self._broken:
                continue
            if isinstance(problem, PolicyNotInForce):
                self._found.setdefault((role, name), self.around.now)
            if name in self._unread:
                self._unread.discard(name)
                self._counts.take_effect(Kind.POLICIES)

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
        self._poll()
        self._counts.made[Kind.POLICIES] += 1
        self._unread.add(name)
        around.later(lambda: self._mend(name), LASTS)

    def _mend(self, name: str) -> None:
        self.around.note(f"{name} is as shipped again")
        self._asked = self._asked or name == ACCOUNTS
        self._put_back(name)
        self._poll()

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

    def _poll(self) -> None:
        """Compare all policies in the store with the shipped ones."""
        broken = {name for name in self._names if self._changed(name)}
        broken |= set() if self._asked else {ACCOUNTS}
        self._broken = {name: self._broken.get(name, self.around.now) for name in sorted(broken)}
        self._found = {key: when for key, when in self._found.items() if key[1] in broken}
        self._unread &= broken

    def _changed(self, name: str) -> set[str]:
        """Return the fields that differ from the shipped ones."""
        changed: set[str] = set()
        for part, kind in KINDS.items():
            found, spec = self.around.api.get(kind, name), _documents()[part, name]["spec"]
            there = found["spec"] if found else {}
            changed |= {field for field in spec.keys() | there.keys() if spec.get(field) != there.get(field)}
        return changed

    def _active_alone(self, rule: AdmissionRule) -> AdmissionRule:
        def ask(attempt: Attempt) -> Sequence[Denial]:
            return [one for one in rule(attempt) if not isinstance(one, PolicyDenial) or self._denies(one)]

        return ask

    def _denies(self, denial: PolicyDenial) -> bool:
        return self._asked and not self._changed(denial.policy) - {STILL_DENIES}


@cache
def _documents() -> Mapping[tuple[str, str], Object]:
    """Return the documents by part and name. The plain manifests lack those of self-fencing."""
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
    seen = fingerprint_policy(policy, well_known.SYSTEM_NAMESPACE)
    return Fingerprint(seen.scope, seen.demands, fingerprint_binding(binding, well_known.SYSTEM_NAMESPACE))


def _hosts_policy(attempt: Attempt) -> list[Denial]:
    """Deny that the remediator changes a label of a host."""
    if attempt.user.name != REMEDIATOR or _noted(attempt.new, "labels") == _noted(attempt.old, "labels"):
        return []
    return [PolicyDenial("nodemend-hosts", "metadata: no label", "Forbidden")]


def _agent_leases_policy(attempt: Attempt) -> list[Denial]:
    """Deny that another account reports in a node's name."""
    before, after = (
        _noted(one, "annotations").get(well_known.AGENT_REPORT) for one in (attempt.old, attempt.new)
    )
    if attempt.user.name not in ROLES or before == after:
        return []
    return [PolicyDenial("nodemend-agent-leases", "not the node", "Forbidden")]


def _noted(object_: Any, part: str) -> dict[str, Any]:
    return ((object_ or {}).get("metadata") or {}).get(part) or {}


NOT_SIMULATED: Final[Sequence[tuple[Resource, AdmissionRule]]] = (
    (BARE_METAL_HOST, _hosts_policy),
    (LEASE, _agent_leases_policy),
)
"""The parts of these policies that the programs test."""

"""Proves periodically that the admission policies on which safety depends are in force.

The proof reads each policy and its binding and compares them with the shipped version. If RBAC lets the
account attempt a write that a policy must refuse, the proof also sends that write as a dry run. None of these
writes is ever stored. Each account has its own list of policies and dry-run writes.

A metric shows the result for each policy. Each change is logged, and each new doubt is also an event.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, assert_never

import msgspec

from nodemend.api import well_known
from nodemend.api.admission_policy import AdmissionBinding, AdmissionPolicy
from nodemend.api.meta import KubernetesObject, ObjectMeta
from nodemend.api.resources import (
    ADMISSION_BINDING,
    ADMISSION_POLICY,
    BARE_METAL_HOST,
    CAPM3_REMEDIATION,
    LEASE,
    MANUAL_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    OUR_GROUP,
    REMEDIATION_ORDER,
    SECRET,
    Resource,
)
from nodemend.api.upstream_types import reference_to
from nodemend.api.well_known import AGENT_NAMESPACE
from nodemend.guard.policies import (
    ALWAYS,
    OF_ANNOTATIONS,
    OF_CAPM3,
    OF_SELF_FENCING,
    Admitted,
    Attempted,
    AttemptUnclear,
    DeniedBy,
    Fingerprint,
    evaluate_attempt,
    evaluate_policy,
)
from nodemend.guard.policy_fingerprint import fingerprint_binding, fingerprint_policy
from nodemend.kube.client import ApiClient, Page, Restarted, pages
from nodemend.kube.events import EventRecord
from nodemend.kube.outcome import (
    Acknowledged,
    Ok,
    Reason,
    Refused,
    Undecodable,
    Unknown,
    Unsent,
    WriteOutcome,
)
from nodemend.kube.ports import Runtime
from nodemend.kube.request import EVERYTHING, Request, Selection, apply, as_dry_run, attempt_change, create
from nodemend.records.agent_lease import revision_of
from nodemend.records.live_reads import READ_WITHIN, WRITE_WITHIN, LiveReader, project, read_result
from nodemend.records.machine import MACHINE_API_FLAVORS
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.guard_holds import PolicyNotInForce, PolicyNotProven, PolicyProblem
from nodemend.telemetry.event_reasons import POLICY_NOT_PROVEN
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import Metrics

PROVE_EVERY: Final = 60.0
PROVE_AGAIN: Final = 10.0
"""Seconds between proofs while a policy is in doubt: an installation may create its policies last."""
GOOD_FOR: Final = 180.0
"""Seconds for which a proof counts while no newer one succeeds, for example while the API server is down."""
_WORDS: Final = 300
"""Characters of a server message to keep. The name of the refusing policy is at its beginning."""
PINS_REPORTS: Final = "nodemend-agent-leases"
"""The policy that restricts the report on a Lease to the node itself."""
_OF_NODES: Final = Selection(namespace=AGENT_NAMESPACE)
_DENIED: Final = "ValidatingAdmissionPolicy '"


_WEBHOOK: Final = "failed calling webhook"
_LOOKED_AT: Final = 100
"""Objects per page if only some of them suit the attempt."""


class _Found(KubernetesObject):
    spec: Mapping[str, msgspec.Raw] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyAttempt:
    """A write that the policy must refuse, with a description, sent as a dry run.

    An attempt that changes an object can use any object of `resource` in `of` whose spec lacks `without`;
    without such an object it cannot run. If `others` is true, another project's webhook may guard the kind.
    While that webhook is unreachable, no client can change such objects, so the policy has nothing to
    protect.
    """

    policy: str
    what: str
    write: Callable[[ObjectMeta], Request]
    resource: Resource | None = None
    of: Selection = EVERYTHING
    without: str = ""
    others: bool = False


@dataclass(frozen=True, slots=True)
class AdmissionRequirement:
    """The policies that one account relies on, their shipped fingerprints, and the attempts to probe them."""

    policies: Sequence[str]
    shipped: Mapping[str, Sequence[Fingerprint]]
    attempts: Sequence[PolicyAttempt]
    namespace: str


class AdmissionRecorder(Protocol):
    """Receives, after each round, the doubt about each policy, or None. Must not raise."""

    def proved(self, problems: Mapping[str, PolicyProblem | None]) -> None: ...


@dataclass(frozen=True, slots=True)
class Admission:
    """The policies to prove, and the recorder of the results."""

    duty: AdmissionRequirement
    recorder: AdmissionRecorder


class AdmissionProof:
    """Proves the policies for one leader term. `client` must refuse writes after that term."""

    def __init__(self, client: ApiClient, runtime: Runtime, admission: Admission | None) -> None:
        """Without `admission` nothing is read and nothing is in doubt: for test worlds without policies."""
        self._client = client
        self._reader = LiveReader(client, runtime)
        self._runtime = runtime
        self._admission = admission
        self._problem: PolicyProblem | None = None
        self._proven_at: dict[str, float] = {}
        """Time of the last proof per policy: during a brown-out no single round may get all replies."""
        self._reports_from: int | None = 0

    def problem(self) -> PolicyProblem | None:
        """Return the reason why no irreversible action is allowed now, or None."""
        if self._admission is None or isinstance(self._problem, PolicyNotInForce):
            return self._problem
        since = self._runtime.monotonic() - GOOD_FOR
        for name in self._admission.duty.policies:
            if self._proven_at.get(name, since) <= since:
                return self._problem or PolicyNotProven(name, "it was not tried for long")
        return None

    def reports_from(self) -> int | None:
        """Return the resourceVersion after which only the node itself can have written its Lease's report.

        None: no Lease can be trusted. The policy and its binding are unchanged since their own
        resourceVersions, so the result also covers the time before this leader read them.
        """
        return self._reports_from

    async def run(self, tell: Callable[[], None] = lambda: None) -> None:
        """Run until cancelled, with the callback after each round. The caller must have run `prove` once."""
        while True:
            tell()
            await self._runtime.sleep(PROVE_EVERY if self._problem is None else PROVE_AGAIN)
            await self.prove()

    async def prove(self) -> None:
        if self._admission is None:
            return
        duty = self._admission.duty
        asked_at = self._runtime.monotonic()
        problems = {name: await self._read_policy(duty, name) for name in duty.policies}
        for attempt in duty.attempts:
            problems[attempt.policy] = problems.get(attempt.policy) or await self._try(attempt)
        if PINS_REPORTS in problems:
            problems[PINS_REPORTS] = await self._evaluate_reports(problems[PINS_REPORTS])
        found = [problem for problem in problems.values() if problem is not None]
        missing = [problem for problem in found if isinstance(problem, PolicyNotInForce)]
        self._problem = next(iter(missing or found), None)
        for name, problem in problems.items():
            if problem is None:
                self._proven_at[name] = asked_at
            elif isinstance(problem, PolicyNotInForce):
                # The earlier proof must not count again if the next round gets no reply.
                self._proven_at.pop(name, None)
        self._admission.recorder.proved(problems)

    async def _evaluate_reports(self, problem: PolicyProblem | None) -> PolicyProblem | None:
        """Return the doubt about reports on Leases.

        A report written while the policy was not in force persists and looks like an agent's. So after such a
        time only Leases newer than the next successful proof count.
        """
        if isinstance(problem, PolicyNotInForce):
            self._reports_from = None
        if problem is not None or self._reports_from is not None:
            return problem
        deadline = self._runtime.monotonic() + READ_WITHIN
        async for page in pages(self._client, LEASE, _Found, of=_OF_NODES, deadline=deadline, limit=1):
            if isinstance(page, Page) and (version := revision_of(page.version)):
                self._reports_from = version
                return None
            break
        return PolicyNotProven(PINS_REPORTS, "since when it is in force again could not be read")

    def _note_versions(self, *objects: ReadResult[AdmissionPolicy] | ReadResult[AdmissionBinding]) -> None:
        versions = [
            revision_of(one.value.metadata.resource_version) for one in objects if isinstance(one, Present)
        ]
        if self._reports_from is not None:
            self._reports_from = max(self._reports_from, *versions, 0)

    async def _read_policy(self, duty: AdmissionRequirement, name: str) -> PolicyProblem | None:
        policy = await self._reader.read(ADMISSION_POLICY, name, AdmissionPolicy)
        binding = await self._reader.read(ADMISSION_BINDING, name, AdmissionBinding)
        if name == PINS_REPORTS:
            self._note_versions(policy, binding)
        return evaluate_policy(
            name,
            project(policy, lambda found: fingerprint_policy(found, duty.namespace)),
            project(binding, lambda found: fingerprint_binding(found, duty.namespace)),
            duty.shipped.get(name, ()),
        )

    async def _try(self, attempt: PolicyAttempt) -> PolicyProblem | None:
        target = ObjectMeta()
        if attempt.resource is not None:
            match await self._target(attempt, attempt.resource):
                case Present(found):
                    target = found
                case Absent():
                    return None  # There is no object to probe with.
                case Unreadable(why):
                    return evaluate_attempt(attempt.policy, attempt.what, AttemptUnclear(why[:_WORDS]))
        deadline = self._runtime.monotonic() + WRITE_WITHIN
        outcome = await self._client.write(attempt.write(target), Acknowledged, deadline=deadline)
        is_gone = isinstance(outcome, Refused) and outcome.reason is Reason.NOT_FOUND
        if (attempt.resource is not None and is_gone) or (attempt.others and _is_closed(outcome)):
            return None
        return evaluate_attempt(attempt.policy, attempt.what, _attempted(outcome))

    async def _target(self, attempt: PolicyAttempt, resource: Resource) -> ReadResult[ObjectMeta]:
        deadline = self._runtime.monotonic() + READ_WITHIN
        limit = _LOOKED_AT if attempt.without else 1
        async for page in pages(
            self._client, resource, _Found, of=attempt.of, deadline=deadline, limit=limit
        ):
            match page:
                case Page(items):
                    fitting = [one.metadata for one in items if attempt.without not in one.spec]
                    if fitting:
                        return Present(fitting[0])
                    if not attempt.without:
                        return Absent()
                case Restarted():
                    continue
                case failure:
                    return read_result(failure)
        return Absent()


def _is_closed(outcome: WriteOutcome[Acknowledged]) -> bool:
    match outcome:
        case Refused(message=words) | Unknown(words):
            return _WEBHOOK in words
        case _:
            return False


def _attempted(outcome: WriteOutcome[Acknowledged]) -> Attempted:
    match outcome:
        case Ok() | Undecodable():
            return Admitted()
        case Refused(message=words) if _DENIED in words:
            return DeniedBy(words[:_WORDS])
        case Refused(message=why) | Unsent(why) | Unknown(why):
            return AttemptUnclear(why[:_WORDS])
        case _:
            assert_never(outcome)


Shipped = Mapping[str, Sequence[Fingerprint]]

PROBE: Final = "nodemend-policy-probe"
_LABEL: Final[Mapping[str, object]] = {"metadata": {"labels": {well_known.POLICY_PROBE: "true"}}}
_TEMPLATE: Final = {
    "apiVersion": "nodemend.io/v1alpha1",
    "kind": "ManualRemediationTemplate",
    "name": PROBE,
    "namespace": PROBE,
}
_CHECK: Final[Mapping[str, object]] = {
    "selector": {"matchLabels": {well_known.POLICY_PROBE: "true"}},
    "thresholds": [{"type": "Ready", "status": "Unknown", "period": "5m"}],
    "remedies": [{"template": _TEMPLATE}],
}
_ORDER: Final[Mapping[str, object]] = {"by": PROBE, "reason": PROBE, "nodeUID": PROBE, "pastGuard": True}
_FOREIGN_CONFIRMATION: Final[Mapping[str, object]] = {
    "by": PROBE,
    "reason": PROBE,
    "nodeUID": PROBE,
    "bootID": PROBE,
    "lastRenewTime": PROBE,
}
_ASKED: Final[Mapping[str, object]] = {"metadata": {"annotations": {well_known.EXTERNAL_REMEDIATION: PROBE}}}
_REPORT: Final[Mapping[str, object]] = {"metadata": {"annotations": {well_known.AGENT_REPORT: "probe"}}}


def requirement_of_remediator(
    shipped: Shipped, namespace: str, *, power_cycle: bool, capm3_kinds: bool, self_fencing: bool
) -> AdmissionRequirement:
    policies = [*ALWAYS]
    attempts = [
        _anothers_lease(namespace),
        _change("nodemend-nodes", "a label on a Node", NODE, _LABEL),
        _change("nodemend-remediations", "a label on a remediation", MANUAL_REMEDIATION, _LABEL),
        _foreign_confirmation(),
        _setting(),
    ]
    if power_cycle:
        attempts.append(_change("nodemend-hosts", "a label on a host", BARE_METAL_HOST, _LABEL))
    if power_cycle and capm3_kinds:
        policies += OF_CAPM3
        attempts.append(
            _change("nodemend-capm3", "a label on CAPM3's remediation", CAPM3_REMEDIATION, _LABEL)
        )
    if self_fencing:
        policies += OF_SELF_FENCING
        of_agents = Selection(namespace=well_known.AGENT_NAMESPACE)
        attempts.append(
            _change("nodemend-agent-leases", "a report in a node's name", LEASE, _REPORT, of_agents)
        )
    return AdmissionRequirement(policies, shipped, attempts, namespace)


def requirement_of_checker(shipped: Shipped, namespace: str, *, annotations: bool) -> AdmissionRequirement:
    policies = [*ALWAYS, *(OF_ANNOTATIONS if annotations else ())]
    drill = {"annotations": {well_known.DRILL: PROBE}}
    attempts = [
        _anothers_lease(namespace),
        _creation(
            "nodemend-remediations",
            "a drill in another's name",
            MANUAL_REMEDIATION,
            namespace,
            metadata=drill,
        ),
        _setting(),
        _named("nodemend-orders", "an order in another's name", REMEDIATION_ORDER, _ORDER),
        *(_on_machines() if annotations else ()),
    ]
    return AdmissionRequirement(policies, shipped, attempts, namespace)


def requirement_of_signer(shipped: Shipped, namespace: str) -> AdmissionRequirement:
    secret = _creation("nodemend-agent-trust", "a Secret of another name", SECRET, namespace)
    policies = ("nodemend-accounts", *OF_SELF_FENCING)
    return AdmissionRequirement(policies, shipped, (_anothers_lease(namespace), secret), namespace)


def _anothers_lease(namespace: str) -> PolicyAttempt:
    return _creation("nodemend-accounts", "a Lease that is not this account's", LEASE, namespace)


def _setting() -> PolicyAttempt:
    return _named("nodemend-settings", "a health check by a controller", NODE_HEALTH_CHECK, _CHECK)


def _foreign_confirmation() -> PolicyAttempt:
    """Probe a remediation without a confirmation: an existing one is immutable by the CRD."""
    change = {"spec": {"confirmation": _FOREIGN_CONFIRMATION}}
    attempt = _change(
        "nodemend-confirmation", "a confirmation in another user's name", MANUAL_REMEDIATION, change
    )
    return replace(attempt, without="confirmation")


def _on_machines() -> Iterator[PolicyAttempt]:
    """Yield attempts for every known version of Machine; a version that is not served has no objects."""
    for flavor in MACHINE_API_FLAVORS:
        machines = Resource(flavor.group, flavor.version, "Machine", "machines")
        yield _change("nodemend-machines", "a label on a Machine", machines, _LABEL)
        yield _change("nodemend-external-remediation", "an annotation that asks", machines, _ASKED)


def _named(policy: str, what: str, resource: Resource, spec: Mapping[str, object]) -> PolicyAttempt:
    """Probe by server-side apply: RBAC for a single resource name allows no other way of creation."""
    request = as_dry_run(apply(resource, PROBE, fields={"spec": spec}, manager=PROBE))
    return PolicyAttempt(policy, what, lambda _: request)


def _creation(
    policy: str, what: str, resource: Resource, namespace: str, **content: Mapping[str, object]
) -> PolicyAttempt:
    fields: dict[str, object] = {**content}
    fields["metadata"] = {"name": PROBE, "namespace": namespace, **content.get("metadata", {})}
    if resource.group == OUR_GROUP:
        fields.setdefault("spec", {})
    return PolicyAttempt(
        policy, what, lambda _: as_dry_run(create(resource, fields, namespace, manager=PROBE))
    )


def _change(
    policy: str, what: str, resource: Resource, change: Mapping[str, object], of: Selection = EVERYTHING
) -> PolicyAttempt:
    def write(target: ObjectMeta) -> Request:
        return attempt_change(resource, target.name, target.namespace, change=change, manager=PROBE)

    others = resource.group not in (NODE.group, LEASE.group, OUR_GROUP)
    return PolicyAttempt(policy, what, write, resource, of, others=others)


class AdmissionTelemetry:
    """Implements `AdmissionRecorder`. `record` takes an event and never blocks or fails."""

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[EventRecord], None]) -> None:
        self._log = log
        self._metrics = metrics
        self._record = record
        self._reported: dict[str, PolicyProblem | None] = {}

    def proved(self, problems: Mapping[str, PolicyProblem | None]) -> None:
        for policy, problem in problems.items():
            self._metrics.admission_policy_active.labels(policy).set(0 if problem else 1)
            if self._reported.get(policy) != problem:
                self._tell(policy, problem)
            self._reported[policy] = problem

    def _tell(self, policy: str, problem: PolicyProblem | None) -> None:
        if problem is None:
            self._log.info("admission policy is in force again", policy=policy)
            return
        regarding = reference_to(ADMISSION_POLICY, policy)
        reported, note = POLICY_NOT_PROVEN, str(problem.explain())
        self._record(EventRecord(regarding, reported.type, reported.name, reported.action, note))
        if isinstance(problem, PolicyNotInForce):
            self._log.error("admission policy is not in force", policy=policy, why=problem.why)
        else:
            self._log.warning("admission policy could not be proven", policy=policy, why=problem.why)

"""Proves, again and again, that the admission policies are in force that our safety rests on.

Each is read and compared with what this version ships; and where an account may attempt a write by its rights
that a policy must refuse, it does, as a dry run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, assert_never

import msgspec

from nodemend.api.admission_policy import AdmissionBinding, AdmissionPolicy
from nodemend.api.group_versions import ADMISSION_BINDING, ADMISSION_POLICY, LEASE, Resource
from nodemend.api.keys import AGENT_NAMESPACE
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire
from nodemend.controllers.fresh_reads import READ_WITHIN, WRITE_WITHIN, Reader, project, seen
from nodemend.decide.admission_policies import (
    Attempted,
    DeniedBy,
    Doubt,
    Fingerprint,
    LetThrough,
    Untold,
    judge_attempt,
    judge_look,
)
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.guard_holds import PolicyNotInForce, PolicyNotProven
from nodemend.kube.agent_lease import revision_of
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok, Reason, Refused, Undecodable, Unknown, WriteOutcome
from nodemend.kube.api_reply import Unsent
from nodemend.kube.api_request import EVERYTHING, Request, Selection
from nodemend.kube.paged_list import Page, Restarted, pages
from nodemend.kube.policy_fingerprint import fingerprint_binding, fingerprint_policy
from nodemend.kube.ports import Runtime

PROVE_EVERY: Final = 60.0
PROVE_AGAIN: Final = 10.0
"""Seconds, while there is a doubt: an installation may bring its policies last."""
GOOD_FOR: Final = 180.0
"""Seconds. For so long a proof counts while nobody can tell anew, as when the API server is away."""
_WORDS: Final = 300
"""Characters of what a server says. The name of the policy that refuses stands at their beginning."""
PINS_REPORTS: Final = "nodemend-agent-leases"
"""By it alone what a Lease of a node says is that node's word."""
_OF_NODES: Final = Selection(namespace=AGENT_NAMESPACE)
_DENIED: Final = "ValidatingAdmissionPolicy '"


_WEBHOOK: Final = "failed calling webhook"
_LOOKED_AT: Final = 100
"""Objects in a page, where not each will do."""


class _Found(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: Mapping[str, msgspec.Raw] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A write that the policy must refuse, in words and as a dry run.

    Where it changes an object, any of `resource` in `of` will do that lacks `without` in its spec, and where
    there is none it cannot be tried. Before a kind of `others` may stand a webhook that cannot be reached:
    then nobody changes any of it, and there is nothing to protect.
    """

    policy: str
    what: str
    write: Callable[[ObjectMeta], Request]
    resource: Resource | None = None
    of: Selection = EVERYTHING
    without: str = ""
    others: bool = False


@dataclass(frozen=True, slots=True)
class AdmissionDuty:
    """Which policies one account relies on, as they are shipped, and how it can try them."""

    policies: Sequence[str]
    shipped: Mapping[str, Sequence[Fingerprint]]
    attempts: Sequence[Attempt]
    namespace: str


class AdmissionRecorder(Protocol):
    """Told after each round what speaks against each policy; None where nothing does. Must not raise."""

    def proved(self, doubts: Mapping[str, Doubt | None]) -> None: ...


@dataclass(frozen=True, slots=True)
class Admission:
    """What is to be proven, and who is told."""

    duty: AdmissionDuty
    recorder: AdmissionRecorder


class AdmissionProof:
    """Serves one leadership. `client` must refuse writes once that is over."""

    def __init__(self, client: ApiClient, runtime: Runtime, admission: Admission | None) -> None:
        """Without `admission` nothing is looked at, and nothing doubted: for worlds without any."""
        self._client = client
        self._reader = Reader(client, runtime)
        self._runtime = runtime
        self._admission = admission
        self._doubt: Doubt | None = None
        self._proven_at: dict[str, float] = {}
        """Each policy by itself: in a brown-out no round may be answered as a whole."""
        self._reports_from: int | None = 0

    def doubt(self) -> Doubt | None:
        """Why nothing irreversible may be done now."""
        if self._admission is None or isinstance(self._doubt, PolicyNotInForce):
            return self._doubt
        since = self._runtime.monotonic() - GOOD_FOR
        for name in self._admission.duty.policies:
            if self._proven_at.get(name, since) <= since:
                return self._doubt or PolicyNotProven(name, "it was not tried for long")
        return None

    def reports_from(self) -> int | None:
        """The version after which a Lease of a node was written by that node; None: none certainly was.

        Policy and binding have stood as they are since their own versions, also where nobody looked before.
        """
        return self._reports_from

    async def run(self, tell: Callable[[], None] = lambda: None) -> None:
        """Until cancelled, with `tell` after each round. Whoever runs this has it prove once before."""
        while True:
            tell()
            await self._runtime.sleep(PROVE_EVERY if self._doubt is None else PROVE_AGAIN)
            await self.prove()

    async def prove(self) -> None:
        if self._admission is None:
            return
        duty = self._admission.duty
        asked_at = self._runtime.monotonic()
        doubts = {name: await self._look(duty, name) for name in duty.policies}
        for attempt in duty.attempts:
            doubts[attempt.policy] = doubts.get(attempt.policy) or await self._try(attempt)
        if PINS_REPORTS in doubts:
            doubts[PINS_REPORTS] = await self._judge_reports(doubts[PINS_REPORTS])
        found = [doubt for doubt in doubts.values() if doubt is not None]
        missing = [doubt for doubt in found if isinstance(doubt, PolicyNotInForce)]
        self._doubt = next(iter(missing or found), None)
        for name, doubt in doubts.items():
            if doubt is None:
                self._proven_at[name] = asked_at
            elif isinstance(doubt, PolicyNotInForce):
                # What was proven before does not count again when nobody answers the next round.
                self._proven_at.pop(name, None)
        self._admission.recorder.proved(doubts)

    async def _judge_reports(self, doubt: Doubt | None) -> Doubt | None:
        """What was written while the policy was not in force stands, and looks like what agents write."""
        if isinstance(doubt, PolicyNotInForce):
            self._reports_from = None
        if doubt is not None or self._reports_from is not None:
            return doubt
        deadline = self._runtime.monotonic() + READ_WITHIN
        async for page in pages(self._client, LEASE, _Found, of=_OF_NODES, deadline=deadline, limit=1):
            if isinstance(page, Page) and (version := revision_of(page.version)):
                self._reports_from = version
                return None
            break
        return PolicyNotProven(PINS_REPORTS, "since when it is in force again could not be read")

    def _note_versions(self, *objects: Seen[AdmissionPolicy] | Seen[AdmissionBinding]) -> None:
        versions = [
            revision_of(one.value.metadata.resource_version) for one in objects if isinstance(one, Present)
        ]
        if self._reports_from is not None:
            self._reports_from = max(self._reports_from, *versions, 0)

    async def _look(self, duty: AdmissionDuty, name: str) -> Doubt | None:
        policy = seen(await self._reader.get(ADMISSION_POLICY, name, AdmissionPolicy))
        binding = seen(await self._reader.get(ADMISSION_BINDING, name, AdmissionBinding))
        if name == PINS_REPORTS:
            self._note_versions(policy, binding)
        return judge_look(
            name,
            project(policy, lambda found: fingerprint_policy(found, duty.namespace)),
            project(binding, lambda found: fingerprint_binding(found, duty.namespace)),
            duty.shipped.get(name, ()),
        )

    async def _try(self, attempt: Attempt) -> Doubt | None:
        target = ObjectMeta()
        if attempt.resource is not None:
            match await self._target(attempt, attempt.resource):
                case Present(found):
                    target = found
                case Absent():
                    return None  # There is nothing that it could be asked about.
                case Unreadable(why):
                    return judge_attempt(attempt.policy, attempt.what, Untold(why[:_WORDS]))
        deadline = self._runtime.monotonic() + WRITE_WITHIN
        outcome = await self._client.write(attempt.write(target), Acknowledged, deadline=deadline)
        if attempt.resource is not None and _is_gone(outcome):
            return None
        if attempt.others and _is_closed(outcome):
            return None
        return judge_attempt(attempt.policy, attempt.what, _attempted(outcome))

    async def _target(self, attempt: Attempt, resource: Resource) -> Seen[ObjectMeta]:
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
                    return seen(failure)
        return Absent()


def _is_gone(outcome: WriteOutcome[Acknowledged]) -> bool:
    return isinstance(outcome, Refused) and outcome.reason is Reason.NOT_FOUND


def _is_closed(outcome: WriteOutcome[Acknowledged]) -> bool:
    match outcome:
        case Refused(message=words) | Unknown(words):
            return _WEBHOOK in words
        case _:
            return False


def _attempted(outcome: WriteOutcome[Acknowledged]) -> Attempted:
    match outcome:
        case Ok() | Undecodable():
            return LetThrough()
        case Refused(message=words) if _DENIED in words:
            return DeniedBy(words[:_WORDS])
        case Refused(message=why) | Unsent(why) | Unknown(why):
            return Untold(why[:_WORDS])
        case _:
            assert_never(outcome)

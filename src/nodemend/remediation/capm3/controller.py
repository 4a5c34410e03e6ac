"""Serves CAPM3's remediations every few seconds: reads the facts live, and writes what the decision requires.

There are few, and each waits for changes of other objects. So they are listed, not watched, and a cluster
without that kind needs no special case. Reasons are reported by events and logs: the status of CAPM3's
remediations has no field for one.
"""

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from nodemend.api import well_known
from nodemend.api.meta import print_time
from nodemend.api.metal3_remediation import Capm3Remediation, Capm3Strategy, Metal3Remediation
from nodemend.api.resources import CAPM3_REMEDIATION, METAL3_REMEDIATION
from nodemend.api.upstream_types import reference_to
from nodemend.kube.client import ApiClient, list_all
from nodemend.kube.events import EventRecord, EventText
from nodemend.kube.outcome import Acknowledged, Ok, ReadFailure, Reason, Refused
from nodemend.kube.request import Request, Selection, create, delete_as_read
from nodemend.records.live_reads import WRITE_WITHIN, ExternalLeaseReader, LiveReader
from nodemend.records.machine import parse_go_duration
from nodemend.remediation import writes
from nodemend.remediation.capm3 import decide as capm3
from nodemend.remediation.capm3.decide import Capm3Facts, Capm3Request, Step, decide, is_delegate_for
from nodemend.rules.request import ExternalLease
from nodemend.safety.facts import Absent, Present, ReadResult
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import AddFinalizer, DropFinalizer, NothingLeft
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.logging import Log


def request_for(theirs: Capm3Remediation, step: capm3.Step, now: str) -> Request | None:
    """Return the write that carries out `step`; None for a step without one."""
    match step:
        case AddFinalizer() | DropFinalizer():
            return writes.write_finalizer(CAPM3_REMEDIATION, theirs.metadata, step)
        case capm3.CreateDelegate():
            return create_delegate(theirs, step)
        case capm3.WriteCapm3Status():
            wanted = capm3.with_status(theirs.status, step, now)
            return writes.write_status(CAPM3_REMEDIATION, theirs.metadata, theirs.status, wanted)
        case capm3.DeleteDelegate(delegate):
            return delete_as_read(METAL3_REMEDIATION, delegate.metadata)
        case NothingLeft() | Hold():
            return None


def create_delegate(theirs: Capm3Remediation, step: capm3.CreateDelegate) -> Request:
    """Return the create request of a delegate, named like CAPM3's remediation.

    The same Machine owns it, through which it finds its host.
    """
    metadata = theirs.metadata
    named = {
        "name": metadata.name,
        "annotations": {well_known.DELEGATE_OF: metadata.uid},
        "ownerReferences": [one for one in metadata.owner_references if one.kind == "Machine"],
    }
    content = {"metadata": named, "spec": msgspec.to_builtins(step.spec)}
    return create(METAL3_REMEDIATION, content, metadata.namespace, manager=writes.FIELD_MANAGER)


_ITS_LEASES = Selection(fields=f"metadata.name={well_known.CAPM3_LEASE}")


def capm3_request_of(theirs: Capm3Remediation) -> Capm3Request | None:
    strategy = theirs.spec.strategy
    return Capm3Request(strategy.type, strategy.retry_limit, _timeout(strategy)) if strategy else None


def _timeout(strategy: Capm3Strategy) -> float | str | None:
    """Return the timeout in seconds, or a message if it cannot be parsed; None if it is not set."""
    if strategy.timeout is None:
        return None
    try:
        return parse_go_duration(strategy.timeout)
    except ValueError as error:
        return f"spec.strategy.timeout: {error}"


class Capm3RemediationRecorder:
    """Reports steps and holds. `record` takes an event, and never blocks or raises."""

    def __init__(self, log: Log, record: Callable[[EventRecord], None]) -> None:
        self._log = log
        self._record = record
        self._unserved = ""

    def took(self, theirs: Capm3Remediation, step: capm3.Step) -> None:
        metadata = theirs.metadata
        self._log.info("step taken", step=step.step, name=metadata.name, namespace=metadata.namespace)
        match step:
            case capm3.CreateDelegate():
                said = (
                    f"Its delegate, Metal3Remediation {metadata.name} of remediation.metal3.io, is created."
                )
                self._tell(theirs, event_reasons.DELEGATE_CREATED, said)
            case capm3.DeleteDelegate():
                why = "It is no longer wanted" if metadata.deleting else "CAPM3 serves it"
                self._tell(theirs, event_reasons.DELEGATE_DELETED, f"{why}: its delegate is deleted.")
            case capm3.WriteCapm3Status(phase=capm3.FAILED):
                said = "It has failed, or was stopped; its delegate says what an operator should do."
                self._tell(theirs, event_reasons.REMEDIATION_FAILED, said)
            case _:
                pass

    def held(self, theirs: Capm3Remediation, hold: Hold) -> None:
        """Report a hold. The event aggregator suppresses repeated messages."""
        self._tell(theirs, event_reasons.REMEDIATION_HELD, str(hold.reason.explain()))

    def unserved(self, why: str) -> None:
        if why and why != self._unserved:
            self._log.warning("CAPM3's remediations cannot be served", note=why)
        self._unserved = why

    def _tell(self, theirs: Capm3Remediation, reason: EventReason, note: str) -> None:
        metadata = theirs.metadata
        regarding = reference_to(CAPM3_REMEDIATION, metadata.name, metadata.namespace, metadata.uid)
        self._record(EventText(reason, note).about(regarding))


POLL_INTERVAL: Final = 5.0
GO_ON_AFTER: Final = 0.2


class Capm3Recorder(Protocol):
    """Reports every step and every hold, and why the kind cannot be served at all."""

    def took(self, theirs: Capm3Remediation, step: Step) -> None: ...

    def held(self, theirs: Capm3Remediation, hold: Hold) -> None: ...

    def unserved(self, why: str) -> None:
        """Report why they cannot be listed; empty if they can."""
        ...


class Capm3Service:
    """Serves one leader term. `client` must refuse writes after the term ends."""

    def __init__(self, reader: LiveReader, client: ApiClient, recorder: Capm3Recorder) -> None:
        self._reader = reader
        self._client = client
        self._recorder = recorder
        self._leases = ExternalLeaseReader(reader)

    async def run(self) -> None:
        """Run until cancelled. A failed read or write is retried in the next pass."""
        while True:
            wrote = await self.reconcile()
            await self._reader.runtime.sleep(GO_ON_AFTER if wrote else POLL_INTERVAL)

    async def reconcile(self) -> bool:
        """Run one pass with at most one write for each of them. Returns whether a write succeeded."""
        # List delegates first: the CAPM3 remediation of each is then in the second list, or gone.
        ours = await self._reader.list_all(METAL3_REMEDIATION, Metal3Remediation)
        theirs = await list_all(
            self._reader.client, CAPM3_REMEDIATION, Capm3Remediation, deadline=self._reader.deadline
        )
        self._recorder.unserved("" if isinstance(theirs, Ok) else _why(theirs))
        if not isinstance(theirs, Ok):
            return False
        wrote = False
        # CAPM3's leader Leases in all namespaces: its namespace is not known.
        leases = await self._leases.list_all(_ITS_LEASES) if theirs.value else Absent()
        for one in theirs.value:
            wrote |= await self._tend(one, leases)
        uids = {one.metadata.uid for one in theirs.value}
        for delegate in ours.value if isinstance(ours, Present) else ():
            stands_for, ending = is_delegate_for(delegate), delegate.metadata.deleting
            if stands_for and stands_for not in uids and not ending:
                request = delete_as_read(METAL3_REMEDIATION, delegate.metadata)
                wrote |= await self._write(request)
        return wrote

    async def _tend(self, theirs: Capm3Remediation, leases: ReadResult[tuple[ExternalLease, ...]]) -> bool:
        step = decide(await self._gather(theirs, leases))
        if isinstance(step, Hold):
            self._recorder.held(theirs, step)
            return False
        request = request_for(theirs, step, print_time(self._reader.runtime.wall()))
        if request is None or not await self._write(request):
            return False
        self._recorder.took(theirs, step)
        return True

    async def _gather(
        self, theirs: Capm3Remediation, leases: ReadResult[tuple[ExternalLease, ...]]
    ) -> Capm3Facts:
        metadata = theirs.metadata
        ours = await self._reader.read(
            METAL3_REMEDIATION, metadata.name, Metal3Remediation, metadata.namespace
        )
        return Capm3Facts(theirs=theirs, wish=capm3_request_of(theirs), ours=ours, leases=leases)

    async def _write(self, request: Request) -> bool:
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        return isinstance(await self._client.write(request, Acknowledged, deadline=deadline), Ok)


def _why(failure: ReadFailure) -> str:
    match failure:
        case Refused(reason=Reason.NOT_FOUND):
            return "the API server does not serve them: CAPM3's kinds are not installed"
        case _:
            return str(failure)

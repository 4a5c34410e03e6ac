"""Looks after the authority every few seconds, and lends its key to whoever has something to sign."""

from typing import Final, Protocol

from nodemend.api.agent_authority import KeyPair
from nodemend.controllers.agent_signer.act import request_for
from nodemend.controllers.agent_signer.gather import Gatherer
from nodemend.controllers.agent_signer.notary import Notary
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader
from nodemend.decide.agent_authority import Signs, SignsNothing, Step, Wait, may_sign, next_step
from nodemend.decide.guard_explanations import explain_guard
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok

LOOK_EVERY: Final = 10.0
GO_ON_AFTER: Final = 0.2
LENT_FOR: Final = 30.0
"""A look at the authority counts for so long: a key that was taken back is not used much longer."""


class AuthorityRecorder(Protocol):
    def did(self, step: Step) -> None: ...

    def idle(self, why: str) -> None:
        """Nothing can be signed, and why; empty when it can."""
        ...


class AuthorityCare:
    """Serves one leadership. `client` must refuse writes once that is over."""

    def __init__(
        self, reader: Reader, client: ApiClient, notary: Notary, recorder: AuthorityRecorder, namespace: str
    ) -> None:
        self._reader = reader
        self._client = client
        self._notary = notary
        self._recorder = recorder
        self._namespace = namespace
        self._gatherer = Gatherer(reader, notary, namespace)
        self._lent: tuple[KeyPair, Signs] | None = None
        self._looked_at = float("-inf")

    async def run(self) -> None:
        """Until cancelled. What cannot be read or written now is looked at again the next time."""
        while True:
            wrote = await self.look()
            await self._reader.runtime.sleep(GO_ON_AFTER if wrote else LOOK_EVERY)

    async def look(self) -> bool:
        """At most one write; whether there was one."""
        asked_at = self._reader.runtime.monotonic()
        found = await self._gatherer.gather()
        verdict = may_sign(found.facts)
        step = next_step(found.facts)
        if isinstance(verdict, Signs) and found.record is not None:
            self._lent, self._looked_at = (found.record.signing, verdict), asked_at
        else:
            self._lent = None
        doubt = self._reader.doubt()
        self._recorder.idle(explain_guard(doubt).sentence if doubt else _why(verdict, step))
        request = request_for(step, found, self._notary, self._namespace)
        if request is None:
            return False
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        written = await self._client.write(request, Acknowledged, deadline=deadline)
        if not isinstance(written, Ok):
            return False
        self._recorder.did(step)
        return True

    def lend(self) -> tuple[KeyPair, Signs] | None:
        """The key that signs now. None: nothing can be signed."""
        fresh = self._reader.runtime.monotonic() - self._looked_at < LENT_FOR
        return self._lent if fresh and self._reader.doubt() is None else None


def _why(verdict: Signs | SignsNothing, step: Step) -> str:
    if isinstance(verdict, Signs):
        return ""
    return step.why if isinstance(step, Wait) and step.why else verdict.why

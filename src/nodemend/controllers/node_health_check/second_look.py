"""Before anything is created or deleted: the same question, asked of the API server itself."""

from dataclasses import replace

import msgspec

from nodemend.api.group_versions import MANUAL_REMEDIATION, Resource
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationTemplate
from nodemend.api.node import Node
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.controllers.node_health_check import act, gather
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.controllers.node_health_check.guarding import Guarding, Moment
from nodemend.controllers.node_health_check.standings import Place
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.guard_holds import OtherRemediation
from nodemend.decide.holds import CannotRead, Hold, NodeReady
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube.api_outcome import Ok
from nodemend.kube.api_request import Request
from nodemend.kube.paged_list import list_all


class SecondLook:
    """Turns a wish into a write, or into the hold that a fresh look gave."""

    def __init__(self, reader: Reader, view: View, guarding: Guarding) -> None:
        self._reader = reader
        self._view = view
        self._guarding = guarding

    async def before_create(self, target: Target, place: Place) -> Request | Hold:
        """The node must still be the same and unhealthy, nobody at work on it, and the guard open."""
        doubt = _doubt(target, await self._reader.node(target.node.name))
        if doubt is not None:
            return doubt
        others = await self._remediations()
        if isinstance(others, Unreadable):
            return Hold(CannotRead("the other remediations", others.why))
        namespace, name = gather.remediation_key(target)
        for remediation in others:
            if remediation.metadata.name == name:
                where = f"{remediation.metadata.namespace}/{name}"
                return Hold(OtherRemediation(f"{MANUAL_REMEDIATION.kind} {where}"))
        guarded = await self._guard(target, place, gather.under_remediation(others))
        if isinstance(guarded, Hold):
            return guarded
        return await self._from_template(target, namespace)

    async def _guard(self, target: Target, place: Place, busy: frozenset[str]) -> Go | Hold:
        """The counts are those that watches keep; what people said and what is open is read afresh."""
        policy, runtime = await self._reader.policy(), self._reader.runtime
        moment = Moment(runtime.monotonic(), runtime.wall())
        facts = self._guarding.facts_of(target, place, moment)
        return guard(replace(facts, policy=policy, others=Present(len(busy - {target.node.name}))))

    async def before_withdraw(self, target: Target) -> Request | Hold:
        """Only what is ours, and only the very version in which nothing was released, or all is over."""
        namespace, name = gather.remediation_key(target)
        found = seen(await self._reader.get(MANUAL_REMEDIATION, name, ManualRemediation, namespace))
        match found:
            case Present(remediation):
                existing = gather.as_open(remediation, target, self._view)
                if not existing.ours or (existing.committed and not existing.finished):
                    return Hold(OtherRemediation(existing.holder))
                return act.withdraw_remediation(remediation)
            case Absent():
                return Hold(CannotRead("the remediation", "it is gone already"))
            case Unreadable(why):
                return Hold(CannotRead("the remediation", why))

    async def _from_template(self, target: Target, namespace: str) -> Request | Hold:
        reference = target.check.spec.remedies[0].template
        kinds = act.remedy_of(reference)
        if kinds is None:
            return Hold(CannotRead(f"the template {reference.kind}", "no remedy of that kind is known"))
        template_kind, remediation_kind = kinds
        spec = await self._template_spec(template_kind, reference.name, namespace)
        if isinstance(spec, Present):
            return act.create_remediation(target, remediation_kind, spec.value)
        why = spec.why if isinstance(spec, Unreadable) else "there is none"
        return Hold(CannotRead(f"the template {namespace}/{reference.name}", why))

    async def _template_spec(self, kind: Resource, name: str, namespace: str) -> Seen[dict[str, object]]:
        found = seen(await self._reader.get(kind, name, ManualRemediationTemplate, namespace))
        if not isinstance(found, Present):
            return found
        spec: dict[str, object] = msgspec.to_builtins(found.value.spec.template.spec)
        return Present(spec)

    async def _remediations(self) -> list[ManualRemediation] | Unreadable:
        outcome = await list_all(
            self._reader.client, MANUAL_REMEDIATION, ManualRemediation, deadline=self._reader.deadline
        )
        return outcome.value.items if isinstance(outcome, Ok) else Unreadable(str(outcome))


def _doubt(target: Target, fresh: Seen[Node]) -> Hold | None:
    """A reason not to believe what the cache said of the node."""
    match fresh:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Absent():
            return Hold(CannotRead("the Node", "it is gone"))
        case Present(node):
            same = node.metadata.uid == target.node.uid
            now = {condition.type: condition.status for condition in node.status.conditions}
            still = any(now.get(t.type) == t.status for t in target.check.spec.thresholds)
            return None if same and still else Hold(NodeReady(target.node.name))

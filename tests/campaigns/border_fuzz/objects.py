"""Input from kubelets, other operators and users, in objects that Nodemend reads."""

import contextlib
import io
import json
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.meta import print_micro_time, written_moment
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.resources import MANUAL_REMEDIATION, Resource
from nodemend.api.self_remediation import SelfRemediation
from nodemend.api.upstream_types import BareMetalHost, Lease, Node
from nodemend.cli.listing import written_age
from nodemend.cli.listing_caches import remember_written
from nodemend.cli.options import Form
from nodemend.cli.output import as_document, as_line
from nodemend.cli.terminal import write_lines, write_note
from nodemend.cli.timeline.collect import from_events
from nodemend.health.conditions import ConditionTracker
from nodemend.kube.events import EventWire
from nodemend.kube.outcome import DECODE_ERRORS, decoder_of
from nodemend.records.live_reads import node_facts
from nodemend.records.machine import MACHINE_API_FLAVORS, MachineWire, machine_records
from nodemend.records.node import NodeWire, node_records
from nodemend.records.remediation import RemediationWire, as_record
from nodemend.remediation.metal3.host_lookup import host_facts
from nodemend.rules.request import ExternalLease, held_externally
from nodemend.safety.facts import Present
from nodemend.safety.holds import LONGEST_MESSAGE, Explanation
from nodemend.safety.host_power import power_of, power_uncertainty
from nodemend.safety.identity import read_provider_id
from nodemend.telemetry.printable import LONGEST_TEXT, printable
from tests.campaigns.border_fuzz.servers import NODE
from tests.campaigns.peer_fuzz import seeds
from tests.campaigns.peer_fuzz.targets import Target, wants

NOW: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)
_META: Final = {
    "name": "n1",
    "namespace": "metal",
    "uid": "u1",
    "resourceVersion": "7",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"a": "b"},
    "annotations": {"reboot.metal3.io/x": "", "inspect.metal3.io": "disabled"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Machine", "name": "m", "uid": "u", "controller": True}],
}
_CONDITION: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "r",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
_MACHINE: Final = {
    "metadata": _META,
    "spec": {
        "clusterName": "c",
        "providerID": "metal3://a/b/c",
        "infrastructureRef": {"kind": "Metal3Machine"},
    },
    "status": {"nodeRef": {"name": "n1"}, "phase": "Running", "conditions": [_CONDITION]},
}
_HOST: Final = {
    "metadata": _META,
    "spec": {"online": True, "consumerRef": {"kind": "Metal3Machine", "name": "m", "namespace": "metal"}},
    "status": {
        "poweredOn": True,
        "operationalStatus": "error",
        "errorType": "power management error",
        "errorMessage": "no answer",
        "lastUpdated": "2026-01-01T00:00:00Z",
        "provisioning": {"state": "provisioned"},
        "conditions": [{"type": "Manageable", "status": "False", "reason": "NoBmc"}],
    },
}
_EVENT: Final = {
    "metadata": _META,
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "type": "Warning",
    "reason": "PowerOff",
    "note": "Host powered off",
    "regarding": {"kind": "BareMetalHost", "name": "h", "uid": "u"},
    "series": {"count": 3, "lastObservedTime": "2026-01-01T00:05:00.000000Z"},
    "deprecatedSource": {"component": "metal3"},
}
_REMEDIATION: Final = {
    "metadata": _META,
    "spec": {},
    "status": {
        "nodeUID": "u1",
        "bootID": seeds.BOOT_ID,
        "phase": "Pending",
        "conditions": [_CONDITION],
        "message": "m",
    },
}
_MEDIK8S: Final = {
    "metadata": _META,
    "spec": {
        "holderIdentity": "sbr",
        "leaseDurationSeconds": 600,
        "renewTime": "2026-01-01T00:00:00.000000Z",
    },
}


def _read(kind: type[Any], data: bytes) -> Any:
    try:
        return decoder_of(kind).decode(data)
    except DECODE_ERRORS:
        return None


def node(data: bytes) -> str:
    """In the cache of the management cluster, and as a live read whose facts a status records."""
    wire, fresh = _read(NodeWire, data), _read(Node, data)
    if wire is None or fresh is None:
        return "refused"
    try:
        record = node_records(("nodemend.io/exclude",)).project(wire, None)
    except DECODE_ERRORS:
        return "refused"
    ages = ConditionTracker()
    remember_written(ages, record.uid, record.conditions, NOW)
    ages.ages(record.uid, record.conditions, 5.0)
    for shown in record.conditions:
        wants(0 <= written_age(shown.last_transition_time, NOW) < 1e12, "an age that is none")
    read_provider_id(record.provider_id)
    facts = node_facts(fresh)
    wants(len(facts.boot_id) <= 128 and facts.boot_id.isprintable(), "a boot that no status can name")
    for one in fresh.status.conditions:
        moment = written_moment(one.last_transition_time)
        wants(moment is None or print_micro_time(moment), "a moment that cannot be written")
    return f"accepted, boot {bool(facts.boot_id)}"


def machine(data: bytes) -> str:
    wire = _read(MachineWire, data)
    if wire is None:
        return "refused"
    for flavor in MACHINE_API_FLAVORS:
        resource = Resource(flavor.group, flavor.version, "machines", "Machine")
        record = machine_records(resource, flavor).project(wire, None)
        remember_written(ConditionTracker(), record.uid, record.conditions, NOW)
        read_provider_id(record.provider_id)
    return "accepted"


def host(data: bytes) -> str:
    found = _read(BareMetalHost, data)
    if found is None:
        return "refused"
    facts = host_facts(found, "u1")
    wants(len(facts.last_updated) <= 64, "a time that no evidence can name")
    why = power_uncertainty(facts)
    said = str(Explanation(f"The host {facts} is in doubt: {why}.", "Look at it."))
    wants(len(said) <= LONGEST_MESSAGE and said.endswith("Look at it."), "a message that no status can hold")
    return f"accepted, {power_of(facts)}"


def external_lease(data: bytes) -> str:
    """A Lease by which another operator claims a node."""
    found = _read(Lease, data)
    if found is None:
        return "refused"
    lasts = found.spec.lease_duration_seconds
    usable = lasts if lasts and lasts > 0 else None
    seen = ExternalLease("n1", found.spec.holder_identity or "", usable, 3.0)
    held = held_externally(Present(seen))
    wants(held is not None or not seen.holder or seen.is_over, "a neighbour that is not seen")
    written_moment(found.spec.renew_time)
    return f"accepted, held {held is not None}"


def remediation(data: bytes) -> str:
    wire = _read(RemediationWire, data)
    kinds = [_read(kind, data) for kind in (ManualRemediation, SelfRemediation, Metal3Remediation)]
    if wire is None:
        return "refused"
    record = as_record(MANUAL_REMEDIATION, wire)
    wants(record.goes_on == (not record.recovers and record.says("Succeeded") != "True"), "it goes on or not")
    written_moment(record.created)
    for one in kinds:
        if one is not None:
            status = msgspec.json.encode(one.status)
            wants(msgspec.json.decode(status, type=type(one.status)) == one.status, "a status that changes")
    return f"accepted, of {sum(one is not None for one in kinds)} kinds"


def event(data: bytes) -> str:
    found = _read(EventWire, data)
    if found is None:
        return "refused"
    for draft in from_events([found]):
        shown = printable(draft.what)
        wants(shown.isprintable() and len(shown) <= LONGEST_TEXT, "an event that acts on a terminal")
        print_micro_time(draft.at)
        return "accepted"
    return "accepted, undated"


def terminal(data: bytes) -> str:
    """Terminal output shows any string of a view without interpreting it."""
    text = data.decode("utf-8", "replace")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        write_lines([f"  FAIL  {text}", text])
        write_note(text)
    shown = out.getvalue() + err.getvalue()
    wants(out.getvalue().count("\n") == 2 and err.getvalue().count("\n") == 1, "a line of another's making")
    wants(len(shown) <= 3 * 20_000 + 10, "an output without a bound")
    documents = [as_document({"reason": text}, form) for form in (Form.JSON, Form.YAML)]
    wants(json.loads(as_line({"reason": text})) == {"reason": text}, "another text")
    for said in (shown, *documents):
        wants(said.replace("\n", "").isprintable(), "something that acts on a terminal")
    # "refused" if some character was escaped.
    return "accepted" if text.isprintable() else "refused"


def _one(*documents: Any) -> tuple[bytes, ...]:
    return tuple(json.dumps(one).encode() for one in documents)


BORDERS: Final = (
    Target("Node", _one(NODE), node),
    Target("Machine", _one(_MACHINE), machine),
    Target("BareMetalHost", _one(_HOST), host),
    Target("neighbour's Lease", _one(_MEDIK8S), external_lease),
    Target("remediation", _one(_REMEDIATION), remediation),
    Target("event", _one(_EVENT), event),
    Target("terminal", (b"node-1 is sick", "ünïcode 漢字".encode()), terminal, ways=("turned", "plain_text")),
)

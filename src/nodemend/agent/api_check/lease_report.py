"""What a boot gate publishes, as JSON: the report of this boot, before there is an agent to make it.

It says what the agent will say in its first renewal, and promises no more: the feed lease is the longest that
the feeder believes, and a list of peers without anybody on it tells managers that no time proof is possible
until the agent has some.
"""

import json

from nodemend.agent.feeder.worth import SECOND, STOOD_DOWN, Worth
from nodemend.agent.last_words.reset_record import CONDEMNED, ResetRecord
from nodemend.api.keys import AGENT_NAMESPACE, AGENT_REPORT, MARKER
from nodemend.decide.small_value import SmallValue

CONTACT_AGE = 15.0
"""K, as agents have it. Nobody asks this node anything before its agent is there."""
_PRECISE = ".000000Z"
_MINUTE = len("2026-01-01T00:00")


class Boot(SmallValue):
    """Which boot of which node, and what will reset it."""

    node: str
    node_uid: str
    boot_id: str
    worth: Worth
    feed_lease: float
    version: str
    held_back: str = ""
    """Why its gate stays closed though nobody asks for its end."""
    last_reset: ResetRecord | None = None


def needs_publishing(
    lease: dict[str, object] | None, boot_id: str, worth: Worth, wall: str, held_back: str = ""
) -> bool:
    """Whether what stands on the Lease is of another boot, or promises something else of the watchdog.

    Or says otherwise why the gate stays closed: it does not open as long as that stands there. Or has not
    answered the marker on it: whoever wrote that wants to know whether the gate is closed by now. What an
    agent of this boot has published is not touched: it knows better by now.

    Or has a marker on it and was published in an earlier minute. A remediator believes only what was written
    while the admission policy of these Leases was in force as it is now, and a policy can be replaced while a
    gate is closed: without another report both would wait for each other. `wall` is the time in UTC, to the
    second.
    """
    found = _report_on(lease)
    if found.get("bootID") != boot_id:
        return True
    if found.get("acknowledged"):
        return False
    same = _promise(found.get("watchdog")) == _promise(_watchdog(worth))
    asked = _asked_by(lease)
    answered = found.get("answers") == asked and (asked is None or _minute_of(lease) == wall[:_MINUTE])
    return not same or not answered or found.get("heldBack", "") != held_back


def agent_has_published(lease: dict[str, object] | None, boot_id: str) -> bool:
    """Whether what stands on the Lease is of an agent in this boot: it may have peers, and promise more."""
    found = _report_on(lease)
    return found.get("bootID") == boot_id and bool(found.get("acknowledged"))


def has_stood_down(lease: dict[str, object] | None) -> bool:
    """Whether the last agent said that it ends, and that no release may rest on this node's watchdog."""
    match _report_on(lease).get("watchdog"):
        case {"class": "unsupported", "why": str(why)}:
            return why == STOOD_DOWN
        case _:
            return False


def promises_less(lease: dict[str, object], boot_id: str, feed_lease: float, effective: float) -> str:
    """How what stands on the Lease is less than what this boot keeps; empty where it is not. Seconds.

    A feeder that is started anew may live longer on one look than its Lease says. Whoever is promised nothing
    counts on nothing.
    """
    found = _report_on(lease)
    if found.get("bootID") != boot_id or _promise(found.get("watchdog")) is None:
        return ""
    match found:
        case {"feedLease": float() | int() as told, "watchdog": {"effective": float() | int() as reset}}:
            if told >= feed_lease and reset >= effective:
                return ""
            return f"its Lease promises {told} and {reset} s, the feeder keeps {feed_lease} and {effective} s"
        case _:
            return "its Lease has a report without times"


def new_lease(boot: Boot, wall: str) -> dict[str, object]:
    """`wall` is the time in UTC, to the second."""
    metadata = {"name": boot.node, "namespace": AGENT_NAMESPACE, **_annotated(boot, 1, None)}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": _spec(boot, wall),
    }


def renewed_lease(lease: dict[str, object], boot: Boot, wall: str) -> dict[str, object] | None:
    """A merge patch of exactly this version; None for a Lease that has none. What others wrote stays."""
    match lease.get("metadata"):
        case {"uid": str(uid), "resourceVersion": str(version)}:
            number = _report_on(lease).get("sequence")
            following = number + 1 if isinstance(number, int) else 1
            only_if = {"uid": uid, "resourceVersion": version}
            return {
                "metadata": {**only_if, **_annotated(boot, following, _asked_by(lease))},
                "spec": _spec(boot, wall),
            }
        case _:
            return None


def _annotated(boot: Boot, number: int, answers: int | None) -> dict[str, object]:
    report = {
        "nodeUID": boot.node_uid,
        "bootID": boot.boot_id,
        # Numbers go on from boot to boot; nothing before this one is vouched for.
        "sequence": number,
        "acknowledged": 0,
        "steadySince": number,
        "feedLease": boot.feed_lease,
        "contactAge": CONTACT_AGE,
        "watchdog": _watchdog(boot.worth),
        "peers": [[]],
        "bootGate": True,
        "version": boot.version,
        **({} if answers is None else {"answers": answers}),
        **({"heldBack": boot.held_back} if boot.held_back else {}),
        **({"lastReset": _last_reset(boot.last_reset)} if boot.last_reset else {}),
    }
    return {"annotations": {AGENT_REPORT: json.dumps(report, separators=(",", ":"))}}


def _watchdog(worth: Worth) -> dict[str, object]:
    return {
        "class": worth.kind,
        "driver": worth.driver,
        "written": worth.written,
        "effective": worth.effective,
        "why": worth.why,
    }


def _last_reset(record: ResetRecord) -> dict[str, object]:
    return {
        "bootID": record.boot_id,
        "condemned": record.state == CONDEMNED,
        "livedOn": record.lived_on / SECOND,
    }


def _promise(watchdog: object) -> object:
    """What a release may rest on. Why it may not on others changes, and is no news."""
    match watchdog:
        case {"class": "hardware" | "software" | "untested"}:
            return watchdog
        case _:
            return None


def _spec(boot: Boot, wall: str) -> dict[str, object]:
    """For people; nothing rests on it but when a gate answers a marker again."""
    return {
        "holderIdentity": boot.node,
        "leaseDurationSeconds": round(CONTACT_AGE),
        "renewTime": wall + _PRECISE,
    }


def _minute_of(lease: dict[str, object] | None) -> str:
    """In which it was renewed last; empty where it does not say."""
    match lease:
        case {"spec": {"renewTime": str(time)}}:
            return time[:_MINUTE]
        case _:
            return ""


def _asked_by(lease: dict[str, object] | None) -> int | None:
    """The epoch of the marker on it; None where there is none."""
    marker = _annotation(lease, MARKER)
    epoch = marker.get("epoch", 0)
    return epoch if marker and isinstance(epoch, int) and epoch >= 0 else None


def _report_on(lease: dict[str, object] | None) -> dict[str, object]:
    return _annotation(lease, AGENT_REPORT)


def _annotation(lease: dict[str, object] | None, key: str) -> dict[str, object]:
    """Empty where there is none, or none that can be read."""
    match lease:
        case {"metadata": {"annotations": {**annotations}}}:
            text = annotations.get(key)
        case _:
            return {}
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

"""What is fed, and what must not come of it.

Each target takes bytes and says in a few words what became of them. It raises WrongError where something good
came of what a second, simpler reading does not find good; whatever else it raises is a finding, too.
"""

import json
import math
from base64 import urlsafe_b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from nodemend.agent.api_check.agent_token import find_pod, read_token
from nodemend.agent.api_check.lease_report import needs_publishing, renewed_lease
from nodemend.agent.api_check.reply import MarkedNow, NoMarker, Unclear, judge_reply
from nodemend.agent.feeder.records import (
    RefusedRecord,
    format_gate,
    format_lease,
    format_permit,
    is_gate,
    is_permit,
    parse_lease,
)
from nodemend.agent.feeder.status_text import parse_status
from nodemend.agent.feeder.worth import judge_worth, longest_lease
from nodemend.agent.memory import Memory
from nodemend.agent.own_token import BoundNode, node_of_token
from nodemend.agent.peer_protocol import PeerQuestion, read_answer, read_question
from nodemend.agent.published import Conduct
from nodemend.api.agent_lease import AgentReport, PeerProposal
from nodemend.api.keys import MARKER
from nodemend.api.self_remediation import SelfRemediationSpec, Weakness
from nodemend.decide.peer_verdict import Answer
from nodemend.decide.time_proof import needed_for
from nodemend.kube.agent_lease import Found, understand
from nodemend.kube.api_reply import Answer as Replied
from tests.peer_fuzz import seeds

_NANOSECOND = 1e-9
_LENIENT = SelfRemediationSpec(accept=tuple(Weakness))


class WrongError(Exception):
    """Something good came of nonsense."""


@dataclass(frozen=True)
class Target:
    name: str
    seeds: tuple[bytes, ...]
    feed: Callable[[bytes], str]
    ways: tuple[str, ...] = ("turned", "rewritten")
    """Of mutation, beside one another."""


def plain(data: bytes | str) -> Any:
    """Read once more, by the standard library. None for what it cannot read.

    Bytes that are no text, and numbers of any length, may stand where nothing of ours does: nobody reads them
    there.
    """
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        return json.loads(text, strict=False, parse_int=str)
    except (ValueError, RecursionError):
        return None


def wants(holds: object, what: str) -> None:
    if not holds:
        raise WrongError(what)


# What peers say.


def question(data: bytes) -> str:
    found = read_question(data)
    if found is None:
        return "none"
    wants(read_question(msgspec.json.encode(found)) == found, "a question that changes when it is written")
    return "a question"


def answer(data: bytes) -> str:
    found = read_answer(data, seeds.QUESTION)
    if found is not Answer.SILENT:
        told = plain(data)
        about = (told["nonce"], told["nodeUID"], told["bootID"])
        asked = (seeds.QUESTION.nonce, seeds.QUESTION.node_uid, seeds.QUESTION.boot_id)
        wants(about == asked, "an answer to another question")
        wants(told["answer"] == found.value, "another answer than it says")
    for changed in seeds.OTHER_QUESTIONS:
        wants(read_answer(data, changed) is Answer.SILENT or _is_to(data, changed), "an answer to all")
    return found.value


def _is_to(data: bytes, asked: PeerQuestion) -> bool:
    told = plain(data)
    return (told["nonce"], told["nodeUID"], told["bootID"]) == (asked.nonce, asked.node_uid, asked.boot_id)


# What stands on a Lease.


def lease(data: bytes) -> str:
    news = understand(Replied(200, data, None, None))
    if not isinstance(news, Found):
        return type(news).__name__
    marker = (plain(data)["metadata"].get("annotations") or {}).get(MARKER)
    wants(news.lease.clean == (marker is None), "a Lease that is clean with a marker on it")
    condemned = news.lease.condemns(seeds.NODE_UID, seeds.BOOT_ID)
    if condemned:
        told = plain(str(marker))
        wants((told["nodeUID"], told["bootID"]) == (seeds.NODE_UID, seeds.BOOT_ID), "a marker for another")
    kinds = [type(one).__name__ for one in (news.lease.report, news.lease.proposal)]
    return f"clean {news.lease.clean} condemned {condemned} {kinds}"


def report(data: bytes) -> str:
    try:
        found = msgspec.json.decode(data, type=AgentReport)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "none"
    wants(msgspec.json.decode(msgspec.json.encode(found), type=AgentReport) == found, "it changes")
    needed = needed_for(found, _LENIENT)
    if not isinstance(needed, int):
        return "no time proof"
    wants(needed >= found.feed_lease + 3 * found.watchdog.effective, "a proof in less than G + 3W")
    wants(found.feed_lease > 0 < found.watchdog.effective, "a proof by no time")
    return "a time proof"


def proposal(data: bytes) -> str:
    """Taken up by an agent with a feeder, and by one without."""
    try:
        found = msgspec.json.decode(data, type=PeerProposal)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "none"
    for longest in (35.0, None):
        who = seeds.who(longest)
        memory = Memory(conduct=Conduct()).consider(who, found)
        memory, renewal = memory.renew(who, 1000.0)
        written = msgspec.json.decode(msgspec.json.encode(renewal.report), type=AgentReport)
        wants(written == renewal.report, "a report that nobody can read")
        memory = memory.acknowledge(renewal, 1001.0).feed_from(1000.0, longest)
        int(memory.fed_until * 1e9)
        wants(memory.conduct.pace.every >= 5.0, "an agent that renews without a pause")
        lives = memory.fed_until - 1000.0
        wants(lives <= renewal.report.feed_lease + _NANOSECOND, "it lives longer than it published")
    return f"taken up with {min(len(found.peers), 3)} peers"


# What the feeder, the agent and the boot gate leave in files.


def status(data: bytes) -> str:
    told = parse_status(data)
    worth = judge_worth(told, seeds.BOOT_ID, seeds.NOW)
    length = longest_lease(told, seeds.BOOT_ID)
    wants(math.isfinite(worth.effective) and math.isfinite(worth.written), "no time")
    if worth.kind == "unsupported":
        wants(worth.why, "no reason")
        return "nothing rests on it"
    lines = data.split(b"\n")
    wants(f"boot {seeds.BOOT_ID}".encode() in lines, "a promise of another boot")
    wants(worth.effective > 0, "a watchdog that takes no time")
    told_class = "hardware" if worth.kind == "untested" else worth.kind
    wants(f"class {told_class}".encode() in lines, "another class than it says")
    return f"{worth.kind} {length is not None}"


def feed_lease(data: bytes) -> str:
    found = parse_lease(data)
    if isinstance(found, RefusedRecord):
        return "refused"
    wants(parse_lease(format_lease(found)) == found, "a lease that changes when it is written")
    wants(found.condemned == (b" condemned " in data), "condemned or not, and it says otherwise")
    return f"condemned {found.condemned}"


def _says(data: bytes, written: bytes) -> bool:
    """Whether it begins as we write it, whatever version it is of: a later one may add words."""
    kind, _, *words = written.split(b" ")[:-1]
    named, _, *found = data.split(b" ")[:-1]
    return named == kind and found[: len(words)] == words


def gate(data: bytes) -> str:
    open_, permitted = is_gate(data, seeds.BOOT_ID), is_permit(data, seeds.BOOT_ID)
    wants(not open_ or _says(data, format_gate(seeds.BOOT_ID, published=True)), "a gate that nobody opened")
    wants(not permitted or _says(data, format_permit(seeds.BOOT_ID)), "a permit that nobody gave")
    return f"gate {open_} permit {permitted}"


# What the API server and kubelet bring.


def own_token(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    found = node_of_token(text)
    if not isinstance(found, BoundNode):
        return found.why
    payload = text.strip().split(".")[1]
    told = plain(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["kubernetes.io"]["node"]
    wants((told["name"], told["uid"]) == (found.name, found.uid), "another node than it says")
    wants(found.name and found.uid, "a node without a name")
    return "bound"


def api_check(data: bytes) -> str:
    ok, absent = (judge_reply(code, data, seeds.NODE, seeds.BOOT_ID) for code in (200, 404))
    if isinstance(ok, NoMarker):
        about = plain(data)["metadata"]
        wants(about.get("annotations") is None or MARKER not in about["annotations"], "clean with a marker")
    if isinstance(ok, MarkedNow):
        marker = plain(plain(data)["metadata"]["annotations"][MARKER])
        wants(marker["bootID"] == seeds.BOOT_ID, "marked for another boot")
    wants(isinstance(judge_reply(500, data, seeds.NODE, seeds.BOOT_ID), Unclear), "an error that is clear")
    return f"{type(ok).__name__} {type(absent).__name__}"


def gate_publishes(data: bytes) -> str:
    """What the boot gate reads before there is an agent. A reply is a JSON object, or not read at all."""
    told = plain(data)
    token = read_token(told, seeds.NODE)
    pod = find_pod(told)
    if not isinstance(told, dict):
        return f"{token is None} {type(pod).__name__}"
    boot = seeds.boot()
    needed = needs_publishing(told, seeds.BOOT_ID, boot.worth, "2026-01-01T00:00:00")
    patch = renewed_lease(told, boot, "2026-01-01T00:00:00")
    if patch is not None:
        json.dumps(patch)
    return f"{token is None} {type(pod).__name__} {needed} {patch is None}"


TARGETS = (
    Target("question", seeds.QUESTIONS, question),
    Target("answer", seeds.ANSWERS, answer),
    Target("lease", seeds.LEASES, lease),
    Target("report", seeds.REPORTS, report),
    Target("proposal", seeds.PROPOSALS, proposal),
    Target("feeder status", seeds.STATUSES, status, ways=("turned",)),
    Target("feed lease", seeds.FEED_LEASES, feed_lease, ways=("turned", "sealed")),
    Target("gate and permit", seeds.GATES, gate, ways=("turned", "sealed")),
    Target("own token", seeds.TOKENS, own_token, ways=("turned", "token")),
    Target("API check", seeds.LEASES + seeds.REFUSALS, api_check),
    Target("boot gate", seeds.LEASES + seeds.TOKEN_REPLIES, gate_publishes),
)

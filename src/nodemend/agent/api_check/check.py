"""Checks this node's Lease for a marker, and publishes this boot on it: one process, one absolute deadline.

The exit code is the answer. It is a separate process, so that TLS does not stay in the caller's locked
memory. It uses the node's own credential, that of kubelet, because it asks about the node.

With `--publish` it also publishes this boot, for the boot gate, before there is an agent. The report has the
content of the agent's first renewal and promises no more: the feed lease is the longest that the feeder
accepts, and an empty list of peers shows remediators that no time proof is possible until the agent has
peers.

The API server lets a node's own credential write only the Leases of kubelets (NodeRestriction). But a node
may request tokens of the pods that are bound to it, as kubelet does, and the agent's pod still is, from
before the boot. Such a token names the node and its UID, and may write this one Lease and no other.
"""

import argparse
import http.client
import json
import os
import signal
import ssl
import sys
import time
import urllib.parse
from base64 import urlsafe_b64decode
from pathlib import Path

from nodemend import __version__
from nodemend.agent import exit_codes
from nodemend.agent.api_check.reply import (
    MarkedBefore,
    MarkedNow,
    NoLease,
    NoMarker,
    UnclearReply,
    evaluate_reply,
    exit_code_of,
)
from nodemend.agent.reset_log import ResetRecord
from nodemend.agent.reset_log_io import read_reset, read_tested
from nodemend.agent.watchdog.model import parse_status
from nodemend.agent.watchdog.records import (
    STOPPED_GRACEFULLY,
    WatchdogStatus,
    evaluate_watchdog,
    longest_lease,
)
from nodemend.agent.watchdog.records_io import read_or_empty
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT, MARKER
from nodemend.protocol.values import SmallValue

ACCOUNT = "nodemend-agent"
SECONDS = 600
"""The shortest lifetime that the API server grants."""


class AgentPod(SmallValue):
    name: str
    uid: str


class NoPod(SmallValue):
    """No agent pod is bound to this node, or only one that is being deleted."""


class Token(SmallValue):
    """A token that may write the Lease of a node with this UID."""

    text: str
    node_uid: str


def find_pod(pods: object) -> AgentPod | NoPod:
    """Find the agent's pod among this node's pods in Nodemend's namespace."""
    match pods:
        case {"items": [*items]}:
            found = [pod for pod in map(_agent_pod, items) if pod is not None]
            return found[0] if found else NoPod()
        case _:
            return NoPod()


def _agent_pod(pod: object) -> AgentPod | None:
    match pod:
        case {
            "metadata": {"name": str(name), "uid": str(uid), **about},
            "spec": {"serviceAccountName": account},
        } if account == ACCOUNT and "deletionTimestamp" not in about:
            return AgentPod(name, uid)
        case _:
            return None


def token_request(pod: AgentPod) -> dict[str, object]:
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": SECONDS, "boundObjectRef": bound},
    }


def read_token(reply: object, node: str) -> Token | None:
    """Return the token; None if the reply is not a token of a pod on this node."""
    match reply:
        case {"status": {"token": str(text)}} if text.count(".") == 2:
            pass
        case _:
            return None
    payload = text.split(".")[1]
    try:
        claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return None
    match claims:
        case {"kubernetes.io": {"node": {"name": str(name), "uid": str(uid)}}} if name == node and uid:
            return Token(text, uid)
        case _:
            return None


_MOST_BYTES = 1 << 20
_PATCH = "application/merge-patch+json"


class Caller:
    """Sends requests with one credential. Raises OSError, ValueError or HTTPException without an answer."""

    def __init__(self, options: argparse.Namespace, token: str | None = None) -> None:
        """Use `token` if it is given; otherwise the node's credential from the options."""
        server = urllib.parse.urlsplit(options.server)
        if server.scheme != "https" or server.hostname is None:
            raise ValueError(f"the server must be an https address, not {options.server!r}")
        context = ssl.create_default_context(cafile=options.ca)
        self._headers = {"Accept": "application/json"}
        if token is None and options.token:
            token = options.token.read_text().strip()
        if token is None:
            context.load_cert_chain(options.certificate, options.key)
        else:
            self._headers["Authorization"] = f"Bearer {token}"
        self._prefix = server.path
        self._connection = http.client.HTTPSConnection(
            server.hostname, server.port, context=context, timeout=options.within
        )

    def ask(self, method: str, path: str, body: object) -> tuple[int, bytes]:
        """Return the status and the body of the reply."""
        headers, content = self._headers, None
        if body is not None:
            kind = _PATCH if method == "PATCH" else "application/json"
            headers, content = {**headers, "Content-Type": kind}, json.dumps(body)
        self._connection.request(method, self._prefix + path, content, headers)
        reply = self._connection.getresponse()
        text = reply.read(_MOST_BYTES)
        if not reply.isclosed():
            raise ValueError("the reply is too long")
        return reply.status, text


CONTACT_AGE = 15.0
"""K in seconds, as agents have it. No peer asks this node before its agent starts."""
_PRECISE = ".000000Z"
_MINUTE = len("2026-01-01T00:00")


class DesiredLease(SmallValue):
    """The report to publish: this boot, and the watchdog that will reset it.

    `wall` is the time in UTC, to the second.
    """

    node: str
    boot_id: str
    watchdog_status: WatchdogStatus
    feed_lease: float
    version: str
    wall: str
    held_back: str = ""
    """The reason why the gate stays closed although there is no marker."""
    last_reset: ResetRecord | None = None


def needs_publishing(lease: dict[str, object] | None, wanted: DesiredLease) -> bool:
    """True if the gate must publish this boot, possibly again.

    The report on the Lease must be replaced if it:

    - is of another boot,
    - has another promise of the watchdog,
    - has another reason why the gate stays closed: the gate does not open while the Lease has one,
    - has not answered the marker on the Lease, whose writer needs to know whether the gate is closed,
    - answers the marker on the Lease, and is from an earlier minute. A remediator accepts only what was
      written while the current admission policy of these Leases was in force, and a policy can be replaced
      while a gate is closed: without another report both would wait for each other.

    A report by an agent of this boot is left alone, because the agent knows more by now.
    """
    found = _report_on(lease)
    if found.get("bootID") != wanted.boot_id:
        return True
    if found.get("acknowledged"):
        return False
    same = _promise(found.get("watchdog")) == _promise(_watchdog(wanted.watchdog_status))
    asked = _asked_by(lease)
    answered = found.get("answers") == asked and (asked is None or _minute_of(lease) == wanted.wall[:_MINUTE])
    return not same or not answered or found.get("heldBack", "") != wanted.held_back


def agent_has_published(lease: dict[str, object] | None, boot_id: str) -> bool:
    """True if the report is by an agent of this boot: it may have peers, and promise more."""
    found = _report_on(lease)
    return found.get("bootID") == boot_id and bool(found.get("acknowledged"))


def has_stopped_gracefully(lease: dict[str, object] | None) -> bool:
    """True if the last agent published that it stops and that no release may rely on the watchdog."""
    match _report_on(lease).get("watchdog"):
        case {"class": "unsupported", "why": str(why)}:
            return why == STOPPED_GRACEFULLY
        case _:
            return False


def promises_less(lease: dict[str, object], boot_id: str, feed_lease: float, effective: float) -> str:
    """Return how the Lease promises less time than this boot takes; empty if it does not. Seconds.

    A restarted feeder may keep the node running on one API check for longer than its Lease states. A Lease
    without a promise passes, because no release relies on it.
    """
    found = _report_on(lease)
    if found.get("bootID") != boot_id or _promise(found.get("watchdog")) is None:
        return ""
    match found:
        case {"feedLease": float() | int() as reported, "watchdog": {"effective": float() | int() as reset}}:
            if reported >= feed_lease and reset >= effective:
                return ""
            promised = f"its Lease promises {reported} and {reset} s"
            return f"{promised}, the feeder keeps {feed_lease} and {effective} s"
        case _:
            return "its Lease has a report without times"


def new_lease(wanted: DesiredLease, node_uid: str) -> dict[str, object]:
    """Return the Lease to create."""
    metadata = {
        "name": wanted.node,
        "namespace": AGENT_NAMESPACE,
        **_annotated(wanted, node_uid, 1, None),
    }
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": _spec(wanted),
    }


def renewed_lease(lease: dict[str, object], wanted: DesiredLease, node_uid: str) -> dict[str, object] | None:
    """Return a merge patch for exactly this version, or None if it has none. All other fields stay."""
    match lease.get("metadata"):
        case {"uid": str(uid), "resourceVersion": str(version)}:
            number = _report_on(lease).get("sequence")
            following = number + 1 if isinstance(number, int) else 1
            only_if = {"uid": uid, "resourceVersion": version}
            return {
                "metadata": {**only_if, **_annotated(wanted, node_uid, following, _asked_by(lease))},
                "spec": _spec(wanted),
            }
        case _:
            return None


def _annotated(wanted: DesiredLease, node_uid: str, number: int, answers: int | None) -> dict[str, object]:
    report = {
        "nodeUID": node_uid,
        "bootID": wanted.boot_id,
        # Numbers continue from boot to boot; the report guarantees nothing from before this one.
        "sequence": number,
        "acknowledged": 0,
        "steadySince": number,
        "feedLease": wanted.feed_lease,
        "contactAge": CONTACT_AGE,
        "watchdog": _watchdog(wanted.watchdog_status),
        "peers": [[]],
        "bootGate": True,
        "version": wanted.version,
        **({} if answers is None else {"answers": answers}),
        **({"heldBack": wanted.held_back} if wanted.held_back else {}),
        **({"lastReset": wanted.last_reset.report()} if wanted.last_reset else {}),
    }
    return {"annotations": {AGENT_REPORT: json.dumps(report, separators=(",", ":"))}}


def _watchdog(watchdog_status: WatchdogStatus) -> dict[str, object]:
    return {
        "class": watchdog_status.kind,
        "driver": watchdog_status.driver,
        "written": watchdog_status.written,
        "effective": watchdog_status.effective,
        "why": watchdog_status.why,
    }


def _promise(watchdog: object) -> object:
    """Return the watchdog if a release may rely on it. The reason why not may change without effect."""
    match watchdog:
        case {"class": "hardware" | "software" | "untested"}:
            return watchdog
        case _:
            return None


def _spec(wanted: DesiredLease) -> dict[str, object]:
    """For operators. Only a gate that answers a marker again relies on it."""
    return {
        "holderIdentity": wanted.node,
        "leaseDurationSeconds": round(CONTACT_AGE),
        "renewTime": wanted.wall + _PRECISE,
    }


def _minute_of(lease: dict[str, object] | None) -> str:
    """Return the minute of the last renewal; empty if unknown."""
    match lease:
        case {"spec": {"renewTime": str(time)}}:
            return time[:_MINUTE]
        case _:
            return ""


def _asked_by(lease: dict[str, object] | None) -> int | None:
    """Return the epoch of the marker on the Lease; None without a marker."""
    marker = _annotation(lease, MARKER)
    epoch = marker.get("epoch", 0)
    return epoch if marker and isinstance(epoch, int) and epoch >= 0 else None


def _report_on(lease: dict[str, object] | None) -> dict[str, object]:
    return _annotation(lease, AGENT_REPORT)


def _annotation(lease: dict[str, object] | None, key: str) -> dict[str, object]:
    """Return the annotation's object; empty if it does not exist or cannot be read."""
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


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    SendRequest = Callable[[str, str, object], tuple[int, bytes]]
    """Method, path and body; the status and what came with it. Raises for no answer."""

UNANSWERED = (OSError, ValueError, RecursionError, http.client.HTTPException)
"""Exceptions of a request without an answer, or without a readable one."""
_TRIES = 4
_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/leases"
_OUR_KINDS = "/apis/nodemend.io"
_READY = "/readyz"
_OK, _CREATED, _FORBIDDEN, _NOT_FOUND, _CONFLICT = 200, 201, 403, 404, 409
_TOO_MANY, _SERVER_ERROR = 429, 500


class Publisher:
    """Has no deadline: the caller limits the time of the process."""

    def __init__(
        self,
        wanted: DesiredLease,
        as_node: "SendRequest",
        as_agent: "Callable[[str], SendRequest]",
        answers: "Callable[[int], None]" = lambda _code: None,
    ) -> None:
        """`as_agent` returns the function that sends requests with a token.

        `answers` receives the exit code for a marker that was read, before anything is written about it: from
        then on the marker's writer may take the gate for closed.
        """
        self._wanted = wanted
        self._answers = answers
        self._as_node = as_node
        self._as_agent = as_agent
        self._name = urllib.parse.quote(wanted.node, safe="")
        self._node = f"/api/v1/nodes/{self._name}"
        self._lease = f"{_LEASES}/{self._name}"
        self._marked = exit_codes.FAILED
        """Exit code of the last read, for the case that only conflicts follow."""

    def publish(self) -> tuple[int, str]:
        """Return an exit code, and the reason for a failure. After a conflict, read and write again."""
        for _ in range(_TRIES):
            self._marked = exit_codes.FAILED
            done = self._try()
            if done is not None:
                return done
        return self._marked, "another client writes the Lease all the time"

    def _try(self) -> tuple[int, str] | None:
        """Read and write once. None after a conflict."""
        status, body = self._as_node("GET", self._lease, None)
        answer = evaluate_reply(status, body, self._wanted.node, self._wanted.boot_id)
        match answer:
            case UnclearReply(why) if status == _FORBIDDEN:
                return self._without_right(why)
            case UnclearReply(why):
                cannot_say = status == _TOO_MANY or status >= _SERVER_ERROR
                return (exit_codes.NO_ANSWER if cannot_say else exit_codes.FAILED), why
            case MarkedNow():
                return exit_code_of(answer), ""
            case NoLease():
                return self._write(None, exit_codes.ABSENT)
            case NoMarker():
                return self._write(json.loads(body), exit_codes.CLEAN)
            case MarkedBefore():
                return self._answer(json.loads(body), exit_codes.MARKED_FOR_ANOTHER_BOOT)

    def _answer(self, lease: dict[str, object], looked: int) -> tuple[int, str] | None:
        """Answer a marker: it was read, and for any result of the write the answer may be on the Lease."""
        self._answers(looked)
        self._marked = looked
        try:
            done = self._write(lease, looked)
        except UNANSWERED as error:
            return looked, str(error)
        if done is not None and done[0] in (exit_codes.FAILED, exit_codes.NO_ANSWER):
            return looked, done[1]
        return done

    def _write(self, lease: dict[str, object] | None, looked: int) -> tuple[int, str] | None:
        """Publish this boot if necessary. `looked` is the exit code of the read alone."""
        wanted = self._wanted
        if agent_has_published(lease, wanted.boot_id):
            return (exit_codes.TAKEN_OVER if looked == exit_codes.CLEAN else looked), ""
        if not needs_publishing(lease, wanted):
            return looked, ""
        token = self._fetch_token()
        if isinstance(token, Token):
            return self._send(lease, token)
        if isinstance(token, NoPod):
            token = self._without_pod(lease)
        # The reason why this boot cannot be published matters only if the read would open the gate.
        return token if looked == exit_codes.CLEAN else (looked, token[1])

    def _send(self, lease: dict[str, object] | None, token: Token) -> tuple[int, str] | None:
        wanted, ask = self._wanted, self._as_agent(token.text)
        if lease is None:
            status, body = ask("POST", _LEASES, new_lease(wanted, token.node_uid))
        else:
            status, body = ask("PATCH", self._lease, renewed_lease(lease, wanted, token.node_uid))
        if status == _CONFLICT:
            return None
        answer = evaluate_reply(_OK if status == _CREATED else status, body, wanted.node, wanted.boot_id)
        if isinstance(answer, NoLease):
            return None  # Deleted in between: the next read decides.
        return exit_code_of(answer), answer.why if isinstance(answer, UnclearReply) else ""

    def _fetch_token(self) -> Token | NoPod | tuple[int, str]:
        """Return a token of this node's agent; otherwise NoPod, or an exit code and its reason."""
        pods = f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods"
        mine = urllib.parse.quote(f"spec.nodeName={self._wanted.node}", safe="")
        status, body = self._as_node("GET", f"{pods}?fieldSelector={mine}", None)
        if status != _OK:
            return exit_codes.FAILED, f"the pods of this node cannot be listed: {status} {body[:300]!r}"
        pod = find_pod(json.loads(body))
        if isinstance(pod, NoPod):
            return pod
        account = f"/api/v1/namespaces/{AGENT_NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
        status, body = self._as_node("POST", account, token_request(pod))
        token = read_token(json.loads(body), self._wanted.node)
        return token or (exit_codes.FAILED, f"no token for the agent of this node: {status} {body[:300]!r}")

    def _without_pod(self, lease: dict[str, object] | None) -> tuple[int, str]:
        status, _ = self._as_node("GET", self._node, None)
        if status == _NOT_FOUND:
            return exit_codes.NO_NODE, ""
        if has_stopped_gracefully(lease):
            return exit_codes.STOPPED_GRACEFULLY, ""
        return exit_codes.FAILED, "no agent's pod is bound to this node: in whose name should it publish?"

    def _without_right(self, why: str) -> tuple[int, str]:
        """Find out whether the Lease may not be read because Nodemend is uninstalled.

        A server that starts has not read the existing roles and kinds: it is not ready. A server that is cut
        off from its store knows them from before.
        """
        for path, known in ((_READY, (_OK,)), (self._node, (_OK, _NOT_FOUND))):
            status, _ = self._as_node("GET", path, None)
            if status not in known:
                return exit_codes.NO_ANSWER, f"{why}; {path}: {status}"
        status, _ = self._as_node("GET", _OUR_KINDS, None)
        if status == _NOT_FOUND:
            return exit_codes.UNINSTALLED, ""
        return (
            exit_codes.FAILED if status == _OK else exit_codes.NO_ANSWER
        ), f"{why}; {_OUR_KINDS}: {status}"


def run(words: list[str]) -> int:
    """Return the exit code. At the deadline the kernel ends the process, even if it hangs."""
    options = parser().parse_args(words)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, options.within)
    boot_id = options.boot_id.read_text().strip()
    try:
        code, why = _publish(options, boot_id) if options.publish else _check_marker(options, boot_id)
    except (OSError, http.client.HTTPException) as error:
        code, why = exit_codes.NO_ANSWER, str(error)
    except (ValueError, RecursionError) as error:
        code, why = exit_codes.FAILED, str(error)
    if why:
        sys.stderr.write(f"nodemend-api-check: {why}\n")
    return code


def _check_marker(options: argparse.Namespace, boot_id: str) -> tuple[int, str]:
    # Without a resourceVersion the API server makes a quorum read of its store: the read starts after the
    # request was sent, regardless of the server that answers it.
    name = urllib.parse.quote(options.node, safe="")
    status, body = Caller(options).ask("GET", f"{_LEASES}/{name}", None)
    answer = evaluate_reply(status, body, options.node, boot_id)
    if isinstance(answer, NoMarker) and options.status:
        facts = parse_status(read_or_empty(options.status))
        watchdog_status = evaluate_watchdog(facts, boot_id, time.clock_gettime_ns(time.CLOCK_BOOTTIME))
        length = longest_lease(facts, boot_id) or options.lease_length
        if less := promises_less(json.loads(body), boot_id, length, watchdog_status.effective):
            return exit_codes.FAILED, less
    return exit_code_of(answer), answer.why if isinstance(answer, UnclearReply) else ""


def _publish(options: argparse.Namespace, boot_id: str) -> tuple[int, str]:
    reported = parse_status(read_or_empty(options.publish))
    tested = bool(options.tested) and read_tested(options.tested, boot_id, reported.get("driver", ""))
    wanted = DesiredLease(
        node=options.node,
        boot_id=boot_id,
        watchdog_status=evaluate_watchdog(
            reported, boot_id, time.clock_gettime_ns(time.CLOCK_BOOTTIME), tested
        ),
        feed_lease=longest_lease(reported, boot_id) or options.lease_length,
        version=__version__,
        wall=time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()),
        held_back=options.held_back,
        last_reset=read_reset(options.last_reset) if options.last_reset else None,
    )
    return Publisher(
        wanted, Caller(options).ask, lambda token: Caller(options, token).ask, _end_with
    ).publish()


def _end_with(code: int) -> None:
    """Exit with this code at the deadline: a marker was read, even if the answer to it is lost."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(code))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="api-check", description=__doc__)
    parser.add_argument("--server", required=True, help="https://HOST:PORT of the API server")
    parser.add_argument("--ca", required=True, help="the authority that its certificate is from")
    credential = parser.add_mutually_exclusive_group(required=True)
    credential.add_argument("--certificate", help="kubelet's client certificate")
    credential.add_argument("--token", type=Path, help="a file with a token, where there is no certificate")
    parser.add_argument("--key", help="its key, where it is not in the same file")
    parser.add_argument("--node", required=True, help="the node's name, which is that of its Lease")
    parser.add_argument("--boot-id", required=True, type=Path)
    parser.add_argument("--status", help="the feeder's status file: the Lease must promise what it keeps")
    parser.add_argument("--publish", help="publish this boot, too; the feeder's status file")
    parser.add_argument(
        "--lease-length", type=float, default=35.0, help="G while no feeder reports one (%(default)s)"
    )
    parser.add_argument("--held-back", default="", help="with it: why the gate stays closed all the same")
    parser.add_argument("--last-reset", help="with it: the record of the boot that last ended itself")
    parser.add_argument(
        "--tested", help="with it: the gate's record of a watchdog that was observed to reset"
    )
    parser.add_argument("--within", type=float, default=3.0, help="seconds for all of it (%(default)s)")
    return parser

"""A fake of Cluster API's conversion of MachineHealthChecks between v1beta1 and v1beta2.

Its definition sends objects of one version to a webhook of its manager to convert them to the other. Here a
loopback server answers instead, for tests in which objects of both versions must stay complete.
"""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from controlplane.api import Object
from controlplane.ports import LOOPBACK
from controlplane.run import ControlPlane
from nodemend.records.machine import parse_go_duration

_NEW: Final = "v1beta2"
_SAME: Final = ("clusterName", "selector")


@contextmanager
def playing_conversion(plane: ControlPlane) -> Iterator[Object]:
    """The `conversion` of a definition, with a server that runs meanwhile."""
    server = ThreadingHTTPServer((LOOPBACK, 0), _Webhook)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The API server's own certificate: it is for loopback, and is its own CA.
    tls.load_cert_chain(plane.ca, plane.ca.with_suffix(".key"))
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, name="conversion", daemon=True)
    thread.start()
    client = {
        "url": f"https://{LOOPBACK}:{server.server_port}/convert",
        "caBundle": base64.b64encode(plane.ca.read_bytes()).decode(),
    }
    try:
        yield {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join(20)


class _Webhook(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30.0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = asked["request"]
        version = request["desiredAPIVersion"]
        answer = {
            "uid": request["uid"],
            "convertedObjects": [convert(one, version) for one in request["objects"]],
            "result": {"status": "Success"},
        }
        body = json.dumps({**asked, "request": None, "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Discard the log."""


def convert(check: Object, api_version: str) -> Object:
    """A MachineHealthCheck in the other version.

    Fields that the other version lacks are lost, as in the real one.
    """
    change = _grouped if api_version.endswith(f"/{_NEW}") else _flat
    parts = change(check.get("spec") or {}, check.get("status") or {})
    return {**check, "apiVersion": api_version, **parts}


def _grouped(spec: Object, status: Object) -> Object:
    startup = spec.get("nodeStartupTimeout")
    template = spec.get("remediationTemplate")
    named = {key: template[key] for key in ("apiVersion", "kind", "name")} if template else None
    checks = {
        "nodeStartupTimeoutSeconds": _seconds(startup) if startup is not None else None,
        "unhealthyNodeConditions": [_in_seconds(one) for one in spec.get("unhealthyConditions") or ()],
        "unhealthyMachineConditions": [
            _in_seconds(one) for one in spec.get("unhealthyMachineConditions") or ()
        ],
    }
    trigger = {
        "unhealthyLessThanOrEqualTo": spec.get("maxUnhealthy"),
        "unhealthyInRange": spec.get("unhealthyRange"),
    }
    remediation = {"triggerIf": _given(trigger), "templateRef": named}
    counts = {key: value for key, value in status.items() if key not in ("conditions", "v1beta2")}
    old = {"v1beta1": {"conditions": status["conditions"]}} if status.get("conditions") else None
    new = status.get("v1beta2", {}).get("conditions")
    return _parts(
        {**_same(spec), "checks": _given(checks), "remediation": _given(remediation)},
        {**counts, "conditions": new, "deprecated": old},
    )


def _flat(spec: Object, status: Object) -> Object:
    checks, remediation = spec.get("checks") or {}, spec.get("remediation") or {}
    trigger, startup = remediation.get("triggerIf") or {}, checks.get("nodeStartupTimeoutSeconds")
    counts = {key: value for key, value in status.items() if key not in ("conditions", "deprecated")}
    old = status.get("deprecated", {}).get("v1beta1", {}).get("conditions")
    new = {"conditions": status["conditions"]} if status.get("conditions") else None
    return _parts(
        {
            **_same(spec),
            "nodeStartupTimeout": f"{startup}s" if startup is not None else None,
            "unhealthyConditions": [_in_words(one) for one in checks.get("unhealthyNodeConditions") or ()],
            "unhealthyMachineConditions": [
                _in_words(one) for one in checks.get("unhealthyMachineConditions") or ()
            ],
            "maxUnhealthy": trigger.get("unhealthyLessThanOrEqualTo"),
            "unhealthyRange": trigger.get("unhealthyInRange"),
            "remediationTemplate": remediation.get("templateRef"),
        },
        {**counts, "conditions": old, "v1beta2": new},
    )


def _parts(spec: Object, status: Object) -> Object:
    written = _given(status)
    return {"spec": _given(spec), **({"status": written} if written else {})}


def _same(spec: Object) -> Object:
    return {key: spec[key] for key in _SAME if key in spec}


def _in_seconds(condition: Object) -> Object:
    same = {key: condition[key] for key in ("type", "status")}
    return {**same, "timeoutSeconds": _seconds(condition["timeout"])}


def _in_words(condition: Object) -> Object:
    same = {key: condition[key] for key in ("type", "status")}
    return {**same, "timeout": f"{condition['timeoutSeconds']}s"}


def _seconds(written: str) -> int:
    return int(parse_go_duration(written))


def _given(parts: dict[str, Any]) -> Object:
    """Without empty values; zero is kept."""
    return {key: value for key, value in parts.items() if value not in (None, [], {}, "")}

"""A small blocking client of the API server, for tests and tools: JSON in, JSON out."""

import http.client
import json
import select
import socket
import ssl
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from controlplane.ports import LOOPBACK

Object = dict[str, Any]
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
SECONDS_PER_REQUEST = 15.0


class ApiError(Exception):
    """The API server refused. `status` is the HTTP code, `reason` its one-word reason, such as NotFound."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason


class Api:
    """One account's access to one API server. May be used from several threads."""

    def __init__(self, port: int, ca: Path, token: str) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(ca))
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._mine = threading.local()
        self._connections: list[http.client.HTTPSConnection] = []

    def get(self, path: str, **query: str) -> Any:
        return self.request("GET", path, query=query)

    def find(self, path: str) -> Object | None:
        """The object, or None if it does not exist."""
        try:
            found: Object = self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return found

    def list(self, path: str, **query: str) -> list[Object]:
        items: list[Object] = self.get(path, **query)["items"]
        return items

    def create(self, manifest: Object) -> Object:
        """Create what the manifest says, in the namespace it names."""
        created: Object = self.request("POST", collection(manifest), manifest)
        return created

    def patch(self, path: str, change: Object, kind: str = MERGE) -> Object:
        """Patch an object or a subresource. With metadata.uid, another object of that name is not touched."""
        patched: Object = self.request("PATCH", path, change, content_type=kind)
        return patched

    def delete(self, path: str, **options: Any) -> None:
        """Delete one object, or a collection; `options` are DeleteOptions. No error if it does not exist."""
        try:
            self.request("DELETE", path, options or None)
        except ApiError as error:
            if error.status != 404:
                raise

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        query: dict[str, str] | None = None,
    ) -> Any:
        """The decoded answer, or its text if it is not JSON.

        Raises ApiError if the server refuses, OSError or http.client.HTTPException if it does not answer.
        """
        target = f"{path}?{urlencode(query)}" if query else path
        content = None if body is None else json.dumps(body)
        answer, text = self._exchange(method, target, content, content_type)
        if not (answer.getheader("Content-Type") or "").startswith("application/json"):
            decoded: Any = text
        else:
            decoded = json.loads(text)
        if answer.status >= 400:
            status = decoded if isinstance(decoded, dict) else {}
            raise ApiError(answer.status, status.get("reason", ""), status.get("message", text))
        return decoded

    def close(self) -> None:
        """Drop the connections of all threads, none of which may be using one now."""
        for connection in self._connections:
            connection.close()

    def _exchange(
        self, method: str, target: str, content: str | None, content_type: str
    ) -> tuple[http.client.HTTPResponse, str]:
        headers = {**self._headers, "Content-Type": content_type}
        connection = self._connection()
        try:
            connection.request(method, target, content, headers)
            answer = connection.getresponse()
            return answer, answer.read().decode()
        except (OSError, http.client.HTTPException):
            connection.close()  # It may have half an exchange on it.
            raise

    def _connection(self) -> http.client.HTTPSConnection:
        connection: http.client.HTTPSConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                LOOPBACK, self._port, timeout=SECONDS_PER_REQUEST, context=self._tls
            )
            self._mine.connection = connection
            self._connections.append(connection)
        elif connection.sock is not None and _hung_up(connection.sock):
            connection.close()  # And opened again by the request.
        return connection


def _hung_up(idle: socket.socket) -> bool:
    """True if the other side has closed an idle connection: it is readable, and no data is expected."""
    poll = select.poll()
    poll.register(idle, select.POLLIN)
    return bool(poll.poll(0))


def collection(manifest: Object) -> str:
    """The path under which such an object is created.

    The plural is guessed as Kubernetes itself guesses it (meta.UnsafeGuessKindToResource).
    """
    version, kind = manifest["apiVersion"], manifest["kind"].lower()
    if kind.endswith(("s", "x", "ch")):
        plural = f"{kind}es"
    elif kind.endswith("y"):
        plural = f"{kind[:-1]}ies"
    else:
        plural = f"{kind}s"
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace")
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"

"""A kubelet's client of the API server: with its certificate, over one connection."""

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

Object = dict[str, Any]
_WITHIN = 5.0
LOST = (OSError, http.client.HTTPException)
"""Exceptions if the API server is unreachable."""


class RefusedError(Exception):
    """A reply that is not a success."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"{status}: {said}")
        self.status = status


class Api:
    def __init__(self, server: str, authority: str, certificate: str) -> None:
        self._server = urlsplit(server).netloc
        self._tls = ssl.create_default_context(cafile=authority)
        self._tls.load_cert_chain(certificate)
        self._connection: http.client.HTTPSConnection | None = None

    def get(self, path: str) -> Object | None:
        """The object; None if it does not exist."""
        try:
            return self.ask("GET", path)
        except RefusedError as error:
            if error.status != 404:
                raise
            return None

    def merge(self, path: str, change: Object) -> Object:
        return self.ask("PATCH", path, change)

    def ask(self, verb: str, path: str, body: Object | None = None) -> Object:
        """Raises RefusedError, or one of LOST."""
        patch = "application/strategic-merge-patch+json" if verb == "PATCH" else "application/json"
        try:
            connection = self._connect()
            connection.request(verb, path, json.dumps(body) if body else None, {"Content-Type": patch})
            answer = connection.getresponse()
            said = answer.read()
        except LOST:
            self._connection = None
            raise
        if answer.status >= 300:
            raise RefusedError(answer.status, said.decode()[:300])
        return dict(json.loads(said))

    def _connect(self) -> http.client.HTTPSConnection:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(self._server, timeout=_WITHIN, context=self._tls)
        return self._connection

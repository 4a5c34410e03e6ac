"""One API server, one connection a credential, in the standard library's own words."""

import argparse
import http.client
import json
import ssl
import urllib.parse

_MOST_BYTES = 1 << 20
_PATCH = "application/merge-patch+json"


class Caller:
    """Asks in the name of one credential. Raises OSError, ValueError or HTTPException for no answer."""

    def __init__(self, options: argparse.Namespace, token: str | None = None) -> None:
        """With `token` in that name; else in that of the node, as the options say."""
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
        """The status and what came with it."""
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

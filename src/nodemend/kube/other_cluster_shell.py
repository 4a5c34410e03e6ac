"""The way to other clusters by HTTP: the Connector port as production has it."""

import asyncio
from asyncio.sslproto import SSLProtocol
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from nodemend.kube.credentials import CredentialsError
from nodemend.kube.credentials_shell import LiveCredentials
from nodemend.kube.foreign_kubeconfig import read_foreign_kubeconfig
from nodemend.kube.http_shell import HttpTransport, Unpresentable
from nodemend.kube.ports import CannotConnect, Runtime

CONNECTIONS: Final = 4
"""To one cluster: a watch, a list, and reads beside them."""


LONGEST_FOREIGN_BODY: Final = 32 * 1024 * 1024
"""Bytes of one answer: 64 KB for each Node of a full page, where 14 are usual."""
_TLS_BUFFER_BYTES: Final = 16 * 1024
"""One record of TLS."""


_LOOK_UPS_AT_ONCE: Final = 64


def expect_many_clusters() -> None:
    """For programs with a thousand connections that are quiet. To be called once, in the running loop.

    Python gives each a buffer of 256 KiB, and another grows to the same size when a list comes in: half a
    gigabyte that nobody uses. It has no setting for that, only this number of its own. Events of 10 KB that
    come as fast as they can then cost some 15 microseconds more each.

    Names are looked up by threads, of which there would be a handful. A name whose servers are silent keeps
    one for the better part of a minute, and must not keep other clusters waiting.
    """
    SSLProtocol.max_size = _TLS_BUFFER_BYTES
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_LOOK_UPS_AT_ONCE, "look-up"))


class HttpConnector:
    """Every transport has connections of its own, so that one cluster's trouble is nobody else's."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def connect(self, kubeconfig: str) -> HttpTransport | CannotConnect:
        """The text is another party's: whatever it raises is that cluster's trouble alone."""
        try:
            return await self._connect(kubeconfig)
        except Exception as error:  # noqa: BLE001 - one cluster's data must not end the checker; see tests/tidy
            return CannotConnect(f"it cannot be read ({type(error).__name__})")

    async def _connect(self, kubeconfig: str) -> HttpTransport | CannotConnect:
        try:
            connection = read_foreign_kubeconfig(kubeconfig)
        except CredentialsError as error:
            return CannotConnect(str(error))
        credentials = LiveCredentials(connection, self._runtime)
        presented = await credentials.present()
        if isinstance(presented, Unpresentable):
            await credentials.close()
            return CannotConnect(presented.why)
        # A watch on the connection of a list would hold what that list had needed for as long as it lives.
        return HttpTransport(
            credentials,
            self._runtime,
            connections=CONNECTIONS,
            kept=False,
            longest_body=LONGEST_FOREIGN_BODY,
        )

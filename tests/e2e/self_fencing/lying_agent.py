"""A Byzantine agent: it renews its Lease correctly, and gives its peers false answers.

`LIE` names a file with one of the values of `Answer`, which it gives to every peer, or nothing for the truth.
`SHOWN`, if it is set, is a file with the certificate and key that it presents instead of the right one, and
`OLD_TLS` restricts it to TLS 1.2.
"""

import os
import ssl
import sys
from pathlib import Path
from typing import Final

from nodemend.agent.certificates_io import CertificateFiles
from nodemend.agent.peer_http import server_tls
from nodemend.agent.peer_responder import PeerResponderLoop
from nodemend.cmd import agent
from nodemend.protocol.peers import PeerReply


def _lie() -> str:
    return Path(os.environ["LIE"]).read_text()


class LyingDesk(PeerResponderLoop):
    async def ask(self, node: str, node_uid: str, boot_id: str, within: float) -> PeerReply:
        lie = _lie()
        return PeerReply(lie) if lie else await super().ask(node, node_uid, boot_id, within)


class FalseCertificate(CertificateFiles):
    def server_tls(self) -> ssl.SSLContext:
        if (shown := os.environ.get("SHOWN")) is None:
            return super().server_tls()
        context = server_tls(shown, shown, self.trust)
        if os.environ.get("OLD_TLS"):
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
        return context


REPLACED: Final[dict[str, type]] = {"PeerResponderLoop": LyingDesk, "CertificateFiles": FalseCertificate}
"""By the names that the agent's program uses."""


if __name__ == "__main__":
    # An attacker that controls the agent can replace any part of it.
    for name, ours in REPLACED.items():
        if not hasattr(agent, name):
            raise SystemExit(f"{agent.__name__} has no {name} to replace")
        setattr(agent, name, ours)
    sys.exit(agent.main())

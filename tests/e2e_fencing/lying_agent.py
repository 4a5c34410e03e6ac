"""An agent that somebody has taken over. It renews its Lease as it should, and lies to its peers.

`LIE` names a file: one of the answers of `Answer`, which everybody gets who asks, or nothing for the truth.
`SHOWN`, if it is set, is a file with the certificate and key that it shows in place of its own, and
`OLD_TLS` makes it speak TLS 1.2 alone.
"""

import os
import ssl
import sys
from pathlib import Path

from nodemend.agent.certificate_shell import CertificateFiles
from nodemend.agent.peer_desk_loop import PeerDeskLoop
from nodemend.agent.peer_server_shell import server_tls
from nodemend.decide.peer_verdict import Answer
from nodemend.entrypoints import agent_shell, run_agent


def _lie() -> str:
    return Path(os.environ["LIE"]).read_text()


class LyingDesk(PeerDeskLoop):
    async def ask(self, node: str, node_uid: str, boot_id: str, within: float) -> Answer:
        lie = _lie()
        return Answer(lie) if lie else await super().ask(node, node_uid, boot_id, within)


class FalseCertificate(CertificateFiles):
    def server_tls(self) -> ssl.SSLContext:
        if (shown := os.environ.get("SHOWN")) is None:
            return super().server_tls()
        context = server_tls(shown, shown, self.trust)
        if os.environ.get("OLD_TLS"):
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
        return context


if __name__ == "__main__":
    # Whoever has taken it over changes what it likes.
    agent_shell.PeerDeskLoop = LyingDesk  # type: ignore[attr-defined]
    agent_shell.CertificateFiles = FalseCertificate  # type: ignore[attr-defined]
    sys.exit(run_agent.main())

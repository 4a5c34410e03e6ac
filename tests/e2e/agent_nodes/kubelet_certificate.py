"""A certificate by which a node's kubelet is known to the API server."""

import subprocess
from pathlib import Path

from tests.unit.agent.certificates import Authority


def kubelet_certificate(node: str, folder: Path, clients: Authority, days: int = 1) -> Path:
    """As kubelet has it: one file with its certificate and its key. `days` below zero: it is over already."""
    here, there = folder / "kubelet", clients.folder / clients.name
    request = f"req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {here}.key -out {here}.csr"
    signed = f"x509 -req -in {here}.csr -CA {there}.crt -CAkey {there}.key -CAcreateserial -days {days}"
    for words in (
        [*request.split(), "-subj", f"/O=system:nodes/CN=system:node:{node}"],
        [*signed.split(), "-out", f"{here}.crt"],
    ):
        subprocess.run(["openssl", *words], check=True, capture_output=True)
    pem = folder / "kubelet.pem"
    pem.write_text(Path(f"{here}.crt").read_text() + Path(f"{here}.key").read_text())
    return pem

"""Certificates for tests, made by openssl."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Shown:
    """The certificate that an agent presents, and the CA that it trusts."""

    certificate: str
    key: str
    authority: str


@dataclass(frozen=True)
class Authority:
    folder: Path
    name: str = "authority"

    def __post_init__(self) -> None:
        self._openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 "
            f"-keyout {self.name}.key -out {self.name}.crt -subj /CN={self.name}"
        )

    def issue(self, *names: str, file: str = "", days: int = 1) -> Shown:
        """Issue a certificate. With negative `days` it has already expired."""
        file = file or names[0]
        alternatives = ",".join(f"DNS:{name}" for name in names)
        self._openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
            f"-keyout {file}.key -out {file}.csr -subj /CN=agent -addext subjectAltName={alternatives}"
        )
        (self.folder / f"{file}.ext").write_text(f"subjectAltName={alternatives}\n")
        self._openssl(
            f"x509 -req -in {file}.csr -CA {self.name}.crt -CAkey {self.name}.key -CAcreateserial "
            f"-extfile {file}.ext -out {file}.crt -days {days}"
        )
        path = self.folder
        return Shown(str(path / f"{file}.crt"), str(path / f"{file}.key"), str(path / f"{self.name}.crt"))

    def _openssl(self, words: str) -> None:
        subprocess.run(
            ["openssl", *words.split()],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )

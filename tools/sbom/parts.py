"""What a thing is made of, from the files that pin it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

_PINNED: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Part:
    """`purl` names it for good. `hashes` are those of its wheels, of which a platform takes one."""

    name: str
    version: str
    purl: str
    hashes: tuple[str, ...] = ()


def python_parts(requirements: str) -> Iterator[Part]:
    """Raises ValueError for a line that pins nothing, or not by hash."""
    for line in requirements.replace("\\\n", " ").splitlines():
        stated = line.strip()
        if not stated or stated.startswith("#"):
            continue
        pinned, hashes = _PINNED.match(stated), tuple(_HASH.findall(stated))
        if pinned is None or not hashes:
            raise ValueError(f"not pinned by version and hash: {stated[:60]}")
        name, version = pinned.groups()
        # PyPI's names know no case, and one sign between their parts.
        canonical = re.sub(r"[-_.]+", "-", name).lower()
        yield Part(canonical, version, f"pkg:pypi/{canonical}@{quote(version)}", hashes)


def debian_parts(root: Path) -> Iterator[Part]:
    """Of an image's root, by the record that its packages left."""
    for file in sorted((root / "var" / "lib" / "dpkg" / "status.d").iterdir()):
        fields = dict(re.findall(r"^(Package|Version|Architecture): (.+)$", file.read_text(), re.MULTILINE))
        name, version = fields["Package"], fields["Version"]
        purl = f"pkg:deb/debian/{name}@{quote(version)}?arch={fields['Architecture']}"
        yield Part(name, version, purl)

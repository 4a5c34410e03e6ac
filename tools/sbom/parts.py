"""The components of an artifact, from the files that pin them."""

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
    """`purl` is its permanent name. `hashes` are those of its wheels, of which a platform uses one."""

    name: str
    version: str
    purl: str
    hashes: tuple[str, ...] = ()


def python_parts(requirements: str) -> Iterator[Part]:
    """Raises ValueError for a line without a pin, or without a hash."""
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
    """The packages of an image's root, from their control data."""
    for file in sorted((root / "var" / "lib" / "dpkg" / "status.d").iterdir()):
        fields = dict(re.findall(r"^(Package|Version|Architecture): (.+)$", file.read_text(), re.MULTILINE))
        name, version = fields["Package"], fields["Version"]
        purl = f"pkg:deb/debian/{name}@{quote(version)}?arch={fields['Architecture']}"
        yield Part(name, version, purl)

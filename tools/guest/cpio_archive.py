"""Writes the archives that Linux unpacks as its first root ("newc"). Several may follow one another."""

import stat
from collections.abc import Iterator
from pathlib import Path

_END = "TRAILER!!!"


def archive_of(root: Path, prefix: str = "") -> bytes:
    """All files of a folder, owned by root, sorted by name. `prefix` is the folder to unpack them into."""
    found = [*((name, None) for name in _parents(prefix)), *_below(root, prefix)]
    entries = [_entry(name, path, number) for number, (name, path) in enumerate(found, start=1)]
    return b"".join([*entries, _header(_END, 0, b"", 0)])


def _parents(prefix: str) -> Iterator[str]:
    parts = [part for part in prefix.split("/") if part]
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])


def _below(root: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(root.rglob("*")):
        inside = str(path.relative_to(root))
        yield (f"{prefix.strip('/')}/{inside}" if prefix else inside), path


def _entry(name: str, path: Path | None, number: int) -> bytes:
    if path is None:
        return _header(name, stat.S_IFDIR | 0o755, b"", number)
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return _header(name, mode, str(path.readlink()).encode(), number)
    return _header(name, mode, path.read_bytes() if stat.S_ISREG(mode) else b"", number)


def _header(name: str, mode: int, content: bytes, number: int) -> bytes:
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return _padded(head) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)

"""The file, for those who install it by other means than the chart."""

from pathlib import Path

from nodemend.agent.host_bundle import NAME, write_archive


def pack(folder: Path) -> Path:
    """Write it into `folder`; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    write_archive(str(folder / NAME))
    return folder / NAME

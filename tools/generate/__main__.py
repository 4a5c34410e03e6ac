"""`python -m generate [--check]`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from generate.cli_reference import reference_pages
from generate.outputs import (
    CHART_CRDS,
    CRDS,
    ROOT,
    custom_resource_definitions,
    flat_definition,
    host_parts,
    plain_manifests,
)
from generate.shipped_policies import shipped_policies


def main(arguments: list[str]) -> int:
    check = arguments == ["--check"]
    if arguments and not check:
        print("usage: python -m generate [--check]", file=sys.stderr)
        return 2
    # The CRDs and the host's parts first: the manifests are rendered from a chart that contains them.
    definitions, parts = custom_resource_definitions(), host_parts()
    stale = _stale(definitions | parts) + _superfluous(definitions)
    if not check:
        _write(definitions | parts)
        for file in _superfluous(definitions):
            file.unlink()
    rest = flat_definition() | plain_manifests() | shipped_policies() | reference_pages()
    stale += _stale(rest)
    if not check:
        _write(rest)
    for file in stale:
        print(f"{'stale' if check else 'wrote'} {file.relative_to(ROOT)}")
    return 1 if check and stale else 0


def _stale(files: Mapping[Path, str]) -> list[Path]:
    return [file for file, text in files.items() if not file.exists() or file.read_text() != text]


def _superfluous(files: Mapping[Path, str]) -> list[Path]:
    """Definitions of kinds that no longer exist."""
    return [file for folder in (CRDS, CHART_CRDS) for file in folder.glob("*.yaml") if file not in files]


def _write(files: Mapping[Path, str]) -> None:
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`just paths`: the files on the path of one failure. Fails if a path has more files than its bar allows."""

import sys
from collections.abc import Callable

from tests.simulation.paths.measured import (
    TO_RELEASE,
    TO_REMEDIATION,
    Bar,
    path_to_release,
    path_to_remediation,
)
from tests.simulation.paths.tracing import MeasuredPath

PATHS: tuple[tuple[Bar, Callable[[], MeasuredPath]], ...] = (
    (TO_REMEDIATION, path_to_remediation),
    (TO_RELEASE, path_to_release),
)


def main() -> int:
    counts = []
    for bar, measure in PATHS:
        path = measure()
        print(f"{bar.name}:")
        for file in path.files:
            print(f"    {file}")
        print(f"    -> {path.sender} {path.request.method} {path.request.path}")
        counts.append((len(path.files), bar))
    print(last_line(counts))
    return 0 if all(count <= bar.most for count, bar in counts) else 1


def last_line(counts: list[tuple[int, Bar]]) -> str:
    """Return the result: each count with its bar and the number before the redesign."""
    parts = [f"{count} files (at most {bar.most}, before {bar.before})" for count, bar in counts]
    return f"paths: {', '.join(parts)}"


if __name__ == "__main__":
    sys.exit(main())

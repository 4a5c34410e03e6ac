"""`python -m structure [--check]`: draw the packages, and fail on a cycle or on an import that goes up."""

import sys
from pathlib import Path
from typing import Final

from structure.drawing import draw
from structure.layers import read_layers, upward
from structure.modules import Import, read_tree
from structure.packages import Packages, condense

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "nodemend"
PICTURE: Final = ROOT / "docs" / "images" / "packages.svg"


def main(arguments: list[str]) -> int:
    """0 if the graph is sound and, with --check, the picture is that of the code."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m structure [--check]", file=sys.stderr)
        return 2
    tree = read_tree(SOURCE)
    packages = condense(tree)
    rising = upward(tree.imports, read_layers(ROOT / "pyproject.toml"))
    stale = False
    if not packages.cycles:
        stale = _picture(draw(packages), check=bool(arguments))
    print(*_faults(packages, rising), _figure(packages, rising), sep="\n")
    return 1 if packages.cycles or rising or stale else 0


def _picture(text: str, *, check: bool) -> bool:
    """Write the picture, or with `check` say whether the file differs from it."""
    if check:
        if same := PICTURE.exists() and PICTURE.read_text() == text:
            return not same
        print(f"stale: {PICTURE.relative_to(ROOT)}; run `just structure`")
        return True
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(text)
    return False


def _faults(packages: Packages, rising: tuple[Import, ...]) -> list[str]:
    return [f"cycle: {', '.join(cycle)}" for cycle in packages.cycles] + [
        f"upward: {one.importer} imports {one.imported}" for one in rising
    ]


def _figure(packages: Packages, rising: tuple[Import, ...]) -> str:
    arrows = sum(len(targets) for targets in packages.arrows.values())
    return (
        f"{len(packages.boxes)} packages, {arrows} arrows,"
        f" {len(packages.cycles)} cycles, {len(rising)} upward"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

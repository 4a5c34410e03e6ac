"""`python -m sbom [--root ROOT] [--requirements FILE]` prints it."""

import argparse
import json
import sys
from pathlib import Path

from nodemend import __version__
from sbom.bill import bill_of_materials
from sbom.parts import debian_parts, python_parts

REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "run.txt"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m sbom")
    parser.add_argument("--root", type=Path, help="the root of an image, made by python -m image_root")
    parser.add_argument("--requirements", type=Path, default=REQUIREMENTS)
    chosen = parser.parse_args(arguments)
    parts = list(python_parts(chosen.requirements.read_text()))
    if chosen.root is not None:
        parts += debian_parts(chosen.root)
    print(json.dumps(bill_of_materials(__version__, parts), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

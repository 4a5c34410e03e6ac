"""`python -m host_program FOLDER`: packs the file, and prints its path."""

import sys
from pathlib import Path

from host_program.pack import pack


def main(arguments: list[str]) -> int:
    done = pack(Path(arguments[0]))
    print(f"{done} ({done.stat().st_size // 1024} KB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

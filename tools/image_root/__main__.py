"""`python -m image_root ROOT [--wheel WHEEL]` builds, `python -m image_root ROOT -- COMMAND...` runs."""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from image_root.build_root import build_root
from image_root.chroot import ENVIRONMENT, command_in


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m image_root")
    parser.add_argument("root", type=Path)
    parser.add_argument("--wheel", type=Path, help="our wheel; built from the checkout if not given")
    parser.add_argument("command", nargs="*", help="run this in a root that exists, as its user")
    chosen = parser.parse_args(arguments)
    if chosen.command:
        command = command_in(chosen.root, chosen.command)
        return subprocess.run(command, check=False, env=ENVIRONMENT).returncode
    started = time.monotonic()
    programs = build_root(chosen.root, chosen.wheel)
    megabytes = sum(file.lstat().st_size for file in chosen.root.rglob("*") if not file.is_dir()) / 1e6
    seconds = time.monotonic() - started
    print(f"image root: {megabytes:.0f} MB in {seconds:.0f} s, with {', '.join(programs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m shipping`: wheel and sdist build, install, start quickly, and run from the image root."""

import sys
import tempfile
from pathlib import Path
from typing import Final

from exit_status import exit_status
from shipping.image import ready_from_image
from shipping.installed_wheel import COMMANDS, build, install, run, start_seconds

MOST_START_SECONDS: Final = 0.3


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="nodemend-shipping-") as name:
        folder = Path(name)
        wheel, sdist = build(folder / "dist")
        print(f"built {wheel.name} ({wheel.stat().st_size // 1024} KB) and {sdist.name}")
        commands = install(wheel, folder / "venv")
        print(run(str(commands / "kubectl-mend"), "version").strip())
        for command in COMMANDS:
            run(str(commands / command), "--help")
        start = start_seconds(commands)
        ready = ready_from_image(wheel, folder / "root")
    reported = ", ".join(f"{name} ready after {seconds:.1f} s" for name, seconds in ready.items())
    print(
        f"package: wheel and sdist built and installed; kubectl mend version in {start:.2f} s "
        f"(at most {MOST_START_SECONDS}); from the image root: {reported}"
    )
    return exit_status(wrong=False, late=start > MOST_START_SECONDS)


if __name__ == "__main__":
    sys.exit(main())

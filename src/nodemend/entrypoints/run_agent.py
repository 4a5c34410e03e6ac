"""`nodemend-agent`: runs on each node, renews its Lease with us, and lets the feeder go on while it may."""

import sys

from nodemend.entrypoints.agent_shell import NAME, run_agent
from nodemend.settings.plain_command_shell import run_with_settings


def main() -> int:
    return run_with_settings(NAME, "Lets this node go on only while that is known to be safe.", run_agent)


if __name__ == "__main__":
    sys.exit(main())

"""One candidate of the official client's elector, as its example runs it. Imports nothing of Nodemend.

Its work acts on every tick, for as long as the elector allows. When the elector reports that it no longer
leads, the process exits at once: the most favorable reading of its documentation.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from kubernetes import config  # type: ignore[import-not-found]
from kubernetes.leaderelection import electionconfig, leaderelection  # type: ignore[import-not-found]
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock  # type: ignore[import-not-found]

TICK = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--name", "--kubeconfig", "--lease", "--log"):
        parser.add_argument(option, required=True)
    for option in ("--lease-duration", "--renew-deadline", "--retry-period"):
        parser.add_argument(option, type=int, required=True)
    asked = parser.parse_args()
    with Path(asked.log).open("a") as log:

        def write(what: str) -> None:
            log.write(json.dumps({"at": time.clock_gettime(time.CLOCK_BOOTTIME), "what": what}) + "\n")
            log.flush()

        def work() -> None:
            while True:
                write("action")
                time.sleep(TICK)

        def stopped() -> None:
            write("ended")
            os._exit(0)

        config.load_kube_config(config_file=asked.kubeconfig)
        settings = electionconfig.Config(
            LeaseLock(asked.lease, "default", asked.name),
            lease_duration=asked.lease_duration,
            renew_deadline=asked.renew_deadline,
            retry_period=asked.retry_period,
            onstarted_leading=work,
            onstopped_leading=stopped,
        )
        write("started")
        leaderelection.LeaderElection(settings).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())

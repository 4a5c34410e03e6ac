"""The official client's own shared informer.

`python -m bench.clients.other_kubernetes PORT`
"""

import os
import sys
import threading
from typing import Any

from kubernetes import client  # type: ignore[import-not-found]
from kubernetes.informer import SharedInformer  # type: ignore[import-not-found]

from bench.clients.measure import Measurement
from bench.clients.node_generator import LAST


def main(port: str) -> None:
    configuration = client.Configuration()
    configuration.host = f"http://127.0.0.1:{port}"
    client.Configuration.set_default(configuration)
    informer = SharedInformer(client.CoreV1Api().list_node)
    events = 0
    done = threading.Event()

    def count(node: Any) -> None:
        nonlocal events
        events += 1
        if node.metadata.name == LAST:
            done.set()

    informer.add_event_handler("ADDED", count)
    informer.add_event_handler("MODIFIED", count)
    measurement = Measurement("kubernetes")
    measurement.begin()
    informer.start()
    done.wait(timeout=600)
    measurement.end(events, len(informer.cache.list_keys()))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])

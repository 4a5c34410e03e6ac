"""The memory of this many Nodes in the cache. Every condition has a different time.

`python -m bench.clients.records NODES`
"""

import gc
import sys
import time

from bench.clients.measure import Measurement
from bench.clients.node_generator import make_node, watch_line
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.reflector import Reflector, StreamOpened
from nodemend.records.node import node_records


def main(nodes: int) -> None:
    reflector = Reflector(node_records(("cluster.x-k8s.io/machine",)), chance=lambda: 0.0, streaming=False)
    reflector.start(0.0)
    reflector.step(ApiResponse(200, b'{"metadata":{"resourceVersion":"1"},"items":[]}'), 0.0)
    reflector.step(StreamOpened(), 0.0)
    reflector.step(watch_line("ADDED", make_node(nodes)), 0.0)
    measurement = Measurement("records")
    measurement.begin()
    for number in range(nodes):
        reflector.step(watch_line("ADDED", make_node(number, number)), 0.0)
    began = time.perf_counter()
    gc.collect()
    measurement.end(nodes, len(reflector.cache), full_gc_ms=(time.perf_counter() - began) * 1e3)


if __name__ == "__main__":
    main(int(sys.argv[1]))

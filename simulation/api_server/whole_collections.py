"""DELETE of a whole collection: its objects one after the other."""

from dataclasses import replace

from nodemend.kube.outcome import ApiResponse
from simulation.api_server.calls import Call
from simulation.api_server.deleting import delete_object, with_options
from simulation.api_server.reading import filter_of, list_body
from simulation.api_server.watching import WatchCache


def delete_collection(call: Call, _cache: WatchCache) -> ApiResponse:
    """Delete the selected objects. The answer contains their last versions before the deletion."""
    call, options = with_options(call)
    chosen = filter_of(call)
    revision = call.backend.storage.revision
    prefix = f"{chosen.namespace}/" if chosen.namespace else ""
    rows = [
        row
        for key in call.table.keys
        if key.startswith(prefix) and chosen.matches((row := call.table.rows[key]).object)
    ]
    for row in rows:
        namespace, _, name = row.key.rpartition("/")
        one = replace(call, route=replace(call.route, namespace=namespace, name=name))
        delete_object(one, row.key, options, asked_for="Unknown")
    metadata = {"resourceVersion": str(revision)}
    return call.backend.answer(200, list_body(call, metadata, rows))

import json

import pytest

from nodemend.api.resources import NODE, POD
from simulation.api_server.admission import ADMIN, Question
from simulation.api_server.watching import SimulatedWatch
from tests.unit.simulation.api_server.client import Client, reported, version

STREAM = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


def test_a_watch_reports_changes_after_its_version() -> None:
    client = Client()
    made = client.create(NODE, "a")
    client.patch(NODE, "a", change={"spec": {"unschedulable": True}})

    watch = client.watch(NODE, resourceVersion=version(made))
    client.delete(NODE, "a")
    client.create(NODE, "b")

    assert reported(watch) == [("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    assert reported(watch) == []


def test_a_deletion_bears_its_own_revision_and_the_last_content() -> None:
    client = Client()
    made = client.create(NODE, "a", metadata={"labels": {"x": "y"}})
    watch = client.watch(NODE, resourceVersion=version(made))
    client.delete(NODE, "a")

    [line] = watch.take()
    gone = json.loads(line)["object"]

    assert gone["metadata"]["labels"] == {"x": "y"}
    assert version(gone) == str(client.server.revision)


def test_a_write_that_changes_nothing_is_not_reported() -> None:
    client = Client()
    made = client.create(NODE, "a")
    watch = client.watch(NODE, resourceVersion=version(made))

    client.patch(NODE, "a", change={"metadata": {"labels": None}})

    assert reported(watch) == []
    assert client.server.revision == int(version(made))


def test_what_leaves_a_selection_is_deleted_for_the_watcher() -> None:
    client = Client()
    watch = client.watch(NODE, resourceVersion="0", labelSelector="app=a")
    client.create(NODE, "n", metadata={"labels": {"app": "a"}})
    client.patch(NODE, "n", change={"metadata": {"labels": {"app": "b"}}})
    client.patch(NODE, "n", change={"spec": {"unschedulable": True}})
    client.patch(NODE, "n", change={"metadata": {"labels": {"app": "a"}}})

    assert reported(watch) == [("ADDED", "n"), ("DELETED", "n"), ("ADDED", "n")]


def test_watches_report_only_their_namespace_and_name() -> None:
    client = Client()
    inside = client.watch(POD, "default", resourceVersion="0")
    named = client.watch(POD, resourceVersion="0", fieldSelector="metadata.name=b")
    for namespace, name in (("default", "a"), ("kube-system", "b"), ("default", "b")):
        client.create(POD, name, namespace, spec={"containers": [{"name": "c", "image": "i"}]})

    assert reported(inside) == [("ADDED", "a"), ("ADDED", "b")]
    assert reported(named) == [("ADDED", "b"), ("ADDED", "b")]


def test_a_streaming_list_ends_with_a_marked_bookmark() -> None:
    client = Client()
    client.create(NODE, "a")
    watch = client.watch(NODE, **STREAM)
    lines = [json.loads(line) for line in watch.take()]

    assert [line["type"] for line in lines] == ["ADDED", "BOOKMARK"]
    assert lines[1]["object"]["metadata"] == {
        "resourceVersion": str(client.server.revision),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }


def test_a_server_without_streaming_lists_refuses_one() -> None:
    client = Client(streaming_lists=False)

    assert client.refused_watch(NODE, ADMIN, **STREAM).status == 422


def test_a_version_that_is_forgotten_is_an_error_in_the_stream() -> None:
    client = Client()
    made = client.create(NODE, "a")
    client.create(NODE, "b")
    client.server.compact()

    watch = client.watch(NODE, resourceVersion=version(made))
    [line] = watch.take()

    assert json.loads(line)["type"] == "ERROR"
    assert json.loads(line)["object"]["code"] == 410
    assert watch.ended is not None


def test_etcds_compaction_alone_leaves_the_memory_of_watches() -> None:
    client = Client()
    made = client.create(NODE, "a")
    client.create(NODE, "b")
    client.server.compact(events=False)

    assert reported(client.watch(NODE, resourceVersion=version(made))) == [("ADDED", "b")]


def test_a_lagging_cache_reports_nothing_until_it_advances() -> None:
    client = Client()
    watch = client.watch(NODE, resourceVersion="0")
    heard: list[str] = []
    watch.subscribe(lambda: heard.append("due"))
    client.server.lag(NODE, client.server.revision)
    first = client.create(NODE, "a")
    client.create(NODE, "b")

    assert (reported(watch), heard) == ([], [])
    client.server.lag(NODE, int(version(first)))
    assert (reported(watch), heard) == ([("ADDED", "a")], ["due"])
    client.server.lag(NODE, None)
    assert reported(watch) == [("ADDED", "b")]


def test_a_streaming_list_waits_for_a_lagging_cache() -> None:
    client = Client()
    client.server.lag(NODE, client.server.revision)
    client.create(NODE, "a")
    watch = client.watch(NODE, **STREAM)

    assert watch.take() == []
    client.server.lag(NODE, None)
    assert reported(watch) == [("ADDED", "a"), ("BOOKMARK", "")]


def test_a_lag_can_follow_a_function() -> None:
    client = Client()
    watch = client.watch(NODE, resourceVersion="0")
    reached = client.server.revision
    client.server.lag(NODE, lambda: reached)
    client.create(NODE, "a")
    reached += 1

    assert reported(watch) == []
    client.server.tick()
    assert reported(watch) == [("ADDED", "a")]


def test_bookmarks_come_each_minute_and_before_the_end() -> None:
    client = Client()
    watch = client.watch(
        NODE, resourceVersion=str(client.server.revision), allowWatchBookmarks="true", timeoutSeconds="90"
    )
    client.create(NODE, "a")
    assert reported(watch) == [("ADDED", "a")]

    due = []
    while watch.ended is None:
        moment = client.server.next_due()
        assert moment is not None
        client.now = moment
        client.server.tick()
        due += [(client.now.minute * 60 + client.now.second, kind) for kind, _ in reported(watch)]

    assert due == [(60, "BOOKMARK"), (88, "BOOKMARK")]
    assert (client.now.minute, client.now.second) == (1, 30)
    assert client.server.next_due() is None


def test_nothing_is_reported_after_a_close_and_a_break_ends_all_watches() -> None:
    client = Client()
    closed = client.watch(NODE, resourceVersion="0")
    broken = client.watch(NODE, resourceVersion="0")
    closed.close()
    client.server.break_watches()
    client.create(NODE, "a")

    assert (reported(closed), reported(broken)) == ([], [])
    assert closed.ended
    assert broken.ended


def test_a_watch_without_the_right_is_refused() -> None:
    def only_reads(question: Question) -> bool:
        return question.verb != "watch"

    assert Client(authorizer=only_reads).refused_watch(NODE).status == 403


@pytest.mark.parametrize("watchers", [1, 50])
def test_a_line_is_made_once_for_all_watchers(watchers: int) -> None:
    client = Client()
    open_watches: list[SimulatedWatch] = [client.watch(NODE, resourceVersion="0") for _ in range(watchers)]
    client.create(NODE, "a")
    lines = [watch.take()[0] for watch in open_watches]

    assert all(line is lines[0] for line in lines)

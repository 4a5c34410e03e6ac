from hypothesis import given
from hypothesis import strategies as st

from nodemend.api.resources import NODE
from simulation.api_server.storage import Storage

WRITES = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30)


@given(WRITES, st.integers(0, 30))
def test_every_past_moment_can_be_seen_again(writes: list[tuple[str, bool]], back: int) -> None:
    storage = Storage(100)
    table = storage.add_table(NODE)
    moments: list[tuple[int, dict[str, int]]] = [(storage.revision, {})]
    for key, deletes in writes:
        if deletes and key in table.rows:
            storage.delete(table, key)
        else:
            storage.put(table, key, {"metadata": {"name": key}})
        moments.append((storage.revision, {name: row.revision for name, row in table.rows.items()}))

    revision, expected = moments[min(back, len(moments) - 1)]
    rows = table.rows_at(revision)

    assert {name: row.revision for name, row in rows.items()} == expected
    assert table.sorted_keys(rows) == sorted(expected)
    for key in "abc":
        row = table.row_at(key, revision)
        assert (row.revision if row else None) == expected.get(key)


def test_an_object_bears_the_revision_of_its_write_and_its_json_is_made_once() -> None:
    storage = Storage(100)
    stored = storage.put(storage.add_table(NODE), "a", {"metadata": {"name": "a"}})

    assert stored.object["metadata"]["resourceVersion"] == "101"
    assert stored.body is stored.body

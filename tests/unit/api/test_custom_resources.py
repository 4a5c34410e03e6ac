from typing import Any

import msgspec
import pytest

from nodemend.api import well_known
from nodemend.api.crds import FLAT_MACHINE_HEALTH_CHECK, CustomResource, definition_of
from tests.unit.api.full_samples import ALL, BY_KIND, NEVER, full_sample, schema_of
from tests.unit.api.sample_objects import at, leaves

KINDS = list(BY_KIND)


@pytest.mark.parametrize("kind", KINDS)
def test_the_sample_leaves_no_field_out(kind: str) -> None:
    wanted = full_sample(kind)

    missing = [
        leaf
        for part in wanted
        for leaf in leaves(schema_of(kind)["properties"][part], part)
        if not leaf.startswith(NEVER.get(kind, "\0")) and at(wanted, leaf) is None
    ]

    assert missing == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_schema_allows_our_types_read_and_write_back_whole(kind: str) -> None:
    wanted = full_sample(kind)

    read = msgspec.json.decode(msgspec.json.encode(wanted), type=BY_KIND[kind].type)

    assert msgspec.json.decode(msgspec.json.encode(read)) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described_and_bounded(kind: str) -> None:
    """Without bounds the API server refuses rules as too costly, and users may fill etcd with text."""
    for path, schema in _fields(schema_of(kind)["properties"]["spec"], "spec"):
        assert schema.get("description"), path
        if schema.get("type") == "string" and "enum" not in schema:
            assert "maxLength" in schema, path
        if schema.get("type") == "array":
            assert "maxItems" in schema, path
        if "additionalProperties" in schema:
            assert "maxProperties" in schema, path


@pytest.mark.parametrize("kind", KINDS)
def test_every_validation_rule_has_a_readable_message(kind: str) -> None:
    for path, schema in _fields(schema_of(kind), "", root=True):
        for rule in schema.get("x-kubernetes-validations", ()):
            assert len(rule["message"]) >= 20, (path, rule)
            assert "self" not in rule["message"], (path, rule)


@pytest.mark.parametrize("custom", ALL, ids=KINDS)
def test_every_column_and_selectable_field_shows_a_field_that_exists(custom: CustomResource) -> None:
    known = set(_field_paths(schema_of(custom.resource.kind)))
    version, *_ = definition_of(custom)["spec"]["versions"]
    shown = (*version["additionalPrinterColumns"], *version.get("selectableFields", ()))
    paths = [field["jsonPath"] for field in shown]

    assert [path for path in paths if not path.startswith(".metadata.") and _plain(path) not in known] == []


def test_no_two_kinds_share_a_short_name() -> None:
    names = [name for custom in ALL for name in custom.short_names]

    assert len(names) == len(set(names))


def test_only_kinds_with_a_status_have_the_subresource() -> None:
    with_status = {
        definition["spec"]["names"]["kind"]
        for definition in map(definition_of, ALL)
        if "subresources" in definition["spec"]["versions"][0]
    }

    without = {kind for kind in KINDS if kind.endswith("Template")} | {"RemediationOrder"}
    assert with_status == set(KINDS) - without


def test_both_versions_of_the_flat_machine_health_check_are_the_same_and_the_newer_is_stored() -> None:
    definition = definition_of(FLAT_MACHINE_HEALTH_CHECK)
    stored, older = definition["spec"]["versions"]

    assert (stored["name"], older["name"]) == ("v1beta1", "v1alpha3")
    assert stored | {"name": "v1alpha3", "storage": False} == older
    assert definition["metadata"]["labels"][well_known.FLAT] == "true"


def _fields(schema: dict[str, Any], path: str, *, root: bool = False) -> list[tuple[str, dict[str, Any]]]:
    """The schema's fields with their paths, and those below them; with `root` the schema itself, too."""
    found = [(path, schema)] if root else []
    for key, below in schema.get("properties", {}).items():
        if root and key in ("apiVersion", "kind", "metadata"):
            continue
        found += [(f"{path}.{key}", below), *_fields(below, f"{path}.{key}")]
    if "items" in schema:
        found += _fields(schema["items"], f"{path}[]")
    return found


def _field_paths(schema: dict[str, Any]) -> list[str]:
    return [path for path, _ in _fields(schema, "", root=True)]


def _plain(path: str) -> str:
    """A JSON path without its conditions: .status.conditions[?(@.type=="Ready")].status."""
    before, condition, after = path.partition("[?(")
    return f"{before}[]{after.partition(')]')[2]}" if condition else before

"""A custom kind with every feature of structural schemas that Nodemend uses."""

from random import Random
from typing import Any, Final

from tests.simulation.differential.samples import BAD_METADATA, Document, Sample, metadata_change

_RULE: Final = {
    "type": "object",
    "required": ["key"],
    "properties": {
        "key": {"type": "string"},
        "value": {"type": "string", "pattern": "^[a-z]+$"},
        "weight": {"type": "integer", "default": 1},
    },
}
_SPEC: Final = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "mode": {"type": "string", "enum": ["On", "Off"], "default": "Off"},
        "names": {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "string", "minLength": 1, "maxLength": 5},
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "rules": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
            "items": _RULE,
        },
        "extra": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "string"}},
        "inner": {
            "type": "object",
            "default": {},
            "properties": {"on": {"type": "boolean", "default": True}, "note": {"type": "string"}},
        },
        "whole": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"one": {"type": "string"}, "two": {"type": "string"}},
        },
        "empty": {"type": "string", "nullable": True},
        "when": {"type": "string", "format": "date-time"},
        "ratio": {"type": "number"},
    },
}
_CONDITION: Final = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        "type": {"type": "string"},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
    },
}
_STATUS: Final = {
    "type": "object",
    "properties": {
        "epoch": {"type": "integer", "minimum": 0},
        "phase": {"type": "string", "default": "Pending"},
        "conditions": {"type": "array", "items": _CONDITION},
    },
}
DEFINITION: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.differential.nodemend.io"},
    "spec": {
        "group": "differential.nodemend.io",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {"spec": _SPEC, "status": _STATUS},
                    }
                },
            }
        ],
    },
}


def _rules(random: Random) -> list[Document]:
    rules: list[Document] = [{"key": "a"}, {"key": "b", "value": "x"}, {"key": "c", "weight": 3}]
    random.shuffle(rules)
    return rules[: random.randrange(4)]


def _part(random: Random) -> Document:
    return random.choice(
        (
            {"size": random.randrange(1, 11)},
            {"mode": random.choice(("On", "Off", None))},
            {"names": random.choice((["a"], ["a", "b"], [], None))},
            {"tags": random.choice((["x"], ["x", "y"], ["y", "z"], [], None))},
            {"rules": random.choice((_rules(random), None))},
            {"extra": random.choice(({"x": "1"}, {"y": "2"}, {"x": None}, {}, None))},
            {"inner": random.choice(({"on": False}, {"note": "n"}, {}, None))},
            {"whole": random.choice(({"one": "1"}, {"two": "2"}, {"one": None}, None))},
            {"empty": random.choice(("x", None))},
            {"when": "2024-01-01T00:00:00Z"},
            {"ratio": random.choice((0.5, 2))},
            {"bogus": 1},
            {"inner": {"bogus": {"deep": 1}, "on": True}},
        )
    )


def _widget(random: Random) -> Document:
    spec: Document = {"size": random.randrange(1, 11)}
    for _ in range(random.randrange(4)):
        spec |= _part(random)
    made: Document = {"spec": spec}
    if random.random() < 0.3:
        made["status"] = {"epoch": 1}
    return made


def _status(random: Random) -> Document:
    condition = {"type": "Ready", "status": random.choice(("True", "False"))}
    return {
        "status": random.choice(
            (
                {"epoch": random.randrange(5)},
                {"phase": random.choice(("Pending", "Done", None))},
                {
                    "conditions": random.choice(
                        ([condition], [condition, {"type": "B", "status": "True"}], [])
                    )
                },
                {"epoch": 1, "phase": "Done"},
                {"bogus": 1},
            )
        )
    }


def _bad(random: Random) -> Document:
    wrong: tuple[Document, ...] = (
        {"size": 0},
        {"size": 11},
        {"size": "1"},
        {"size": None},
        {"size": 1, "mode": "Maybe"},
        {"size": 1, "names": ["", "toolong"]},
        {"size": 1, "names": ["a", "b", "c", "d"]},
        {"size": 1, "tags": ["x", "x"]},
        {"size": 1, "rules": [{"key": "a"}, {"key": "a"}]},
        {"size": 1, "rules": [{"value": "x"}]},
        {"size": 1, "rules": [{"key": "a", "value": "9"}]},
        {"size": 1, "extra": {"a": "1", "b": "2", "c": "3"}},
        {"size": 1, "extra": {"a": 1}},
        {"size": 1, "inner": 7},
        {"size": 1, "when": "soon"},
        {"size": 1, "ratio": "x"},
        {"size": 1, "rules": "none"},
    )
    if random.random() < 0.2:
        return {"spec": {"size": 1}, "metadata": random.choice(BAD_METADATA)}
    return {"spec": random.choice(wrong)}


def _bad_status(random: Random) -> Document:
    return {
        "status": random.choice(
            (
                {"epoch": -1},
                {"epoch": "1"},
                {"conditions": [{"type": "A"}]},
                {"conditions": [{"type": "A", "status": "Perhaps"}]},
            )
        )
    }


def _change(random: Random) -> Document:
    if random.random() < 0.3:
        return {"metadata": metadata_change(random)}
    return {"spec": _part(random)}


WIDGETS = Sample(
    "/apis/differential.nodemend.io/v1/namespaces/{}/widgets",
    "differential.nodemend.io/v1",
    "Widget",
    ("w1", "w2", "w3"),
    _widget,
    _change,
    _status,
    _bad,
    _bad_status,
)

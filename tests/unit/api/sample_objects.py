"""Objects in which every field of a schema has a value, and none its default. Made from the schema alone."""

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]


def sample(schema: Schema, name: str = "") -> Any:
    """A value the schema allows. A new field is in it by itself; one with strict rules needs an `example`."""
    value = schema["example"] if "example" in schema else _made_up(schema, name)
    if value == schema.get("default"):
        raise ValueError(f"the sample of {name} is its default, {value!r}: give the field another example")
    return value


def _made_up(schema: Schema, name: str) -> Any:
    default = schema.get("default")
    if "enum" in schema:
        return next(value for value in schema["enum"] if value != default)
    match schema["type"]:
        case "string":
            return name
        case "integer":
            smallest = max(schema.get("minimum", 0), 1)
            return smallest if smallest != default else smallest + 1
        case "boolean":
            return not default
        case "array":
            return [sample(schema["items"], name)]
        case "object" if "additionalProperties" in schema:
            return {name: sample(schema["additionalProperties"], name)}
        case "object":
            return {key: sample(below, key) for key, below in schema["properties"].items()}
        case unknown:
            raise ValueError(f"no sample for the type {unknown} of {name}")


def leaves(schema: Schema, path: str = "") -> Iterator[str]:
    """The path of every field that has no fields below it."""
    if "items" in schema:
        yield from leaves(schema["items"], f"{path}[0]")
    elif "properties" in schema:
        for key, below in schema["properties"].items():
            yield from leaves(below, f"{path}.{key}" if path else key)
    else:
        yield path


def at(place: Any, path: str) -> Any:
    """The value at a path such as spec.thresholds[0].type, or None."""
    for part in path.replace("[0]", ".0").split("."):
        if part == "0":
            place = place[0] if place else None
        else:
            place = place.get(part) if isinstance(place, dict) else None
    return place

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec
import pytest

from nodemend.api.crds import UnsupportedTypeError, schema_of, schema_of_kind
from nodemend.api.meta import ObjectMeta, Rule, Wire, about

WORDS = Rule("self != ''", "must not be empty: say something")


class Colour(StrEnum):
    RED = "Red"
    BLUE = "Blue"


class Wheel(Wire):
    """Turns."""

    RULES: ClassVar = (Rule("self.size > 0", "must have a size", field=".size"),)

    size: Annotated[int, about("How big.", ge=0, le=9)]
    colour: Annotated[Colour, about("Of the rim.")] = Colour.RED


class CartSpec(Wire):
    wheels: Annotated[tuple[Wheel, ...], about("All of them.", min_length=1, max_length=4, keys=("size",))]
    bell: Annotated[str, about("Its sound.", pattern="^ding", max_length=8, rules=(WORDS,))] = ""
    horn: Annotated[str, about("Louder.", pattern="^toot", max_length=8)] = "toot"
    spare: Annotated[Wheel | None, about("In the back.")] = None
    stickers: Annotated[dict[str, str], about("By place.", max_length=3)] = {}  # noqa: RUF012 - msgspec copies it
    names: tuple[str, ...] = ()
    open: bool = False


class Cart(Wire):
    """Rolls."""

    spec: CartSpec
    metadata: ObjectMeta = ObjectMeta()


class Garage(Wire):
    class Spec(Wire):
        door: Annotated[Colour, about("Its paint.")] = Colour.BLUE

    spec: Spec = Spec()
    status: Spec = Spec()


def field(name: str) -> dict[str, object]:
    found: dict[str, object] = schema_of(CartSpec)["properties"][name]
    return found


def test_a_field_without_a_default_is_required() -> None:
    assert schema_of(CartSpec)["required"] == ["wheels"]


def test_limits_become_the_schemas_own() -> None:
    wheel = schema_of(Wheel)["properties"]["size"]

    assert (wheel["minimum"], wheel["maximum"], wheel["format"]) == (0, 9, "int64")
    assert (field("wheels")["minItems"], field("wheels")["maxItems"]) == (1, 4)
    assert field("stickers")["maxProperties"] == 3
    assert field("horn")["pattern"] == "^toot"


def test_a_rule_with_a_message_replaces_a_pattern() -> None:
    bell = field("bell")

    assert "pattern" not in bell
    assert bell["x-kubernetes-validations"] == [{"rule": WORDS.expression, "message": WORDS.message}]


def test_the_rules_of_a_type_are_set_on_the_type() -> None:
    assert schema_of(Wheel)["x-kubernetes-validations"] == [
        {"rule": "self.size > 0", "message": "must have a size", "fieldPath": ".size"}
    ]


def test_a_fields_rules_are_added_to_those_of_its_type() -> None:
    class Unicycle(Wire):
        wheel: Annotated[Wheel, about("The one.", rules=(WORDS,))]

    rules = schema_of(Unicycle)["properties"]["wheel"]["x-kubernetes-validations"]

    assert [rule["rule"] for rule in rules] == [WORDS.expression, "self.size > 0"]


def test_a_rule_from_creation_has_an_optional_old_self() -> None:
    class Born(Wire):
        RULES: ClassVar = (Rule("oldSelf.hasValue()", "must have been here before", from_creation=True),)

    assert schema_of(Born)["x-kubernetes-validations"][0]["optionalOldSelf"] is True


def test_lists_are_keyed_or_atomic() -> None:
    assert field("wheels")["x-kubernetes-list-type"] == "map"
    assert field("wheels")["x-kubernetes-list-map-keys"] == ["size"]
    assert field("names")["x-kubernetes-list-type"] == "atomic"


def test_only_defaults_that_differ_from_absence_are_written() -> None:
    defaults = {
        name: schema["default"]
        for name, schema in schema_of(CartSpec)["properties"].items()
        if "default" in schema
    }

    assert defaults == {"horn": "toot"}
    assert schema_of(Wheel)["properties"]["colour"]["default"] == "Red"


def test_a_spec_with_defaults_below_it_is_filled_in_when_left_out_but_a_status_is_not() -> None:
    properties = schema_of(Garage)["properties"]

    assert properties["spec"]["default"] == {}
    assert "default" not in properties["status"]


def test_nothing_is_absence_and_never_null() -> None:
    spare = field("spare")

    assert spare["type"] == "object"
    assert "nullable" not in spare


def test_enums_list_their_values() -> None:
    assert schema_of(Wheel)["properties"]["colour"]["enum"] == ["Red", "Blue"]


def test_descriptions_come_from_fields_and_docstrings() -> None:
    assert field("horn")["description"] == "Louder."
    assert schema_of(Wheel)["description"] == "Turns."


def test_a_kind_has_the_header_of_every_object_and_leaves_metadata_to_the_api_server() -> None:
    schema = schema_of_kind(Cart)

    assert list(schema["properties"]) == ["apiVersion", "kind", "spec", "metadata"]
    assert schema["properties"]["metadata"] == {"type": "object"}


def test_a_number_or_a_text_is_what_kubernetes_calls_it() -> None:
    either = msgspec.defstruct("Either", [("field", int | str)])

    schema = schema_of(either)  # type: ignore[arg-type]
    assert schema["properties"]["field"] == {"x-kubernetes-int-or-string": True}


@pytest.mark.parametrize("type_", [float, msgspec.Raw, int | bool, set[str]])
def test_a_type_without_a_place_in_a_schema_is_refused(type_: object) -> None:
    odd = msgspec.defstruct("Odd", [("field", type_)])

    with pytest.raises(UnsupportedTypeError):
        schema_of(odd)  # type: ignore[arg-type]

"""Malformed bytes raise only the documented exceptions."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.kube.outcome import DECODE_ERRORS, decoder_of


class _Thing(msgspec.Struct):
    name: str = ""
    inside: dict[str, str] = {}


def test_a_type_has_one_decoder() -> None:
    assert decoder_of(_Thing) is decoder_of(_Thing)
    assert decoder_of(_Thing).decode(b'{"name":"x","unknown":[1]}') == _Thing("x")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"name":1}', b'{"name":"\xff"}', b'{"other":' + b"[" * 100_000]
)
def test_unreadable_bytes_raise_what_we_catch(data: bytes) -> None:
    with pytest.raises(DECODE_ERRORS):
        decoder_of(_Thing).decode(data)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_else(noise: bytes) -> None:
    for data in (noise, b'{"name":"' + noise, b'{"inside":{' + noise):
        with suppress(*DECODE_ERRORS):
            decoder_of(_Thing).decode(data)

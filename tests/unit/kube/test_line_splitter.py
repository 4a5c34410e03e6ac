"""Lines come out whole however the stream was cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.kube.watch_stream import LineSplitter, LineTooLongError


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_cut_anywhere_the_same_lines_come_out(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"begun"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    splitter = LineSplitter()

    blocks = [
        bytes(block)
        for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
        for block in splitter.feed(stream[begin:end])
    ]

    assert b"".join(blocks) == stream.removesuffix(b"begun")
    assert all(block.endswith(b"\n") for block in blocks)


def test_a_line_without_end_is_refused_rather_than_kept() -> None:
    splitter = LineSplitter()
    for _ in range(32):
        splitter.feed(b"x" * 1024 * 1024)

    with pytest.raises(LineTooLongError):
        splitter.feed(b"x")

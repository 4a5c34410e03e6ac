"""Whole lines out of a stream that is cut anywhere."""

_LONGEST_LINE_BYTES = 32 * 1024 * 1024


class LineTooLongError(ValueError):
    """No object of Kubernetes is this long: whatever this is, it is not a watch."""


class LineSplitter:
    """Gives back what is whole and keeps the beginning of what is not."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> list[bytes | memoryview]:
        """All lines that `data` completes, in blocks that each end with a newline.

        Only a line that was begun earlier is put together; the others are views of `data`. A busy watch is a
        quarter of a megabyte at a time, and copying that costs more than all that is done with it.
        """
        end = data.rfind(b"\n") + 1
        if end == 0:
            self._keep(data)
            return []
        blocks: list[bytes | memoryview] = []
        begin = 0
        if self._begun:
            begin = data.find(b"\n") + 1
            self._begun.append(data[:begin])
            blocks.append(b"".join(self._begun))
            self._begun.clear()
            self._length = 0
        if begin < end:
            blocks.append(memoryview(data)[begin:end])
        if end < len(data):
            self._keep(data[end:])
        return blocks

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > _LONGEST_LINE_BYTES:
            raise LineTooLongError(f"a line of more than {_LONGEST_LINE_BYTES} bytes")
        self._begun.append(piece)

"""Whole lines out of a stream that is cut anywhere."""

_LONGEST_LINE_BYTES = 32 * 1024 * 1024


class LineTooLongError(ValueError):
    """No object of Kubernetes is this long: whatever this is, it is not a watch."""


class LineSplitter:
    """Gives back what is whole and keeps the beginning of what is not."""

    def __init__(self) -> None:
        self._begun: list[bytes | memoryview] = []
        self._length = 0

    def feed(self, data: bytes) -> bytes:
        """All lines that `data` completes, as one block that ends with a newline; b"" when there is none."""
        end = data.rfind(b"\n") + 1
        if end == 0:
            self._keep(data)
            return b""
        # Views, so that whatever is cut and joined here is copied once.
        self._begun.append(memoryview(data)[:end])
        block = b"".join(self._begun)
        self._begun.clear()
        self._length = 0
        if end < len(data):
            self._keep(data[end:])
        return block

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > _LONGEST_LINE_BYTES:
            raise LineTooLongError(f"a line of more than {_LONGEST_LINE_BYTES} bytes")
        self._begun.append(piece)

"""The watchdog device: the kernel's interface, byte by byte."""

import fcntl
import os
import sys

from nodemend.agent.feeder.words import Device

# From linux/watchdog.h, for the architectures that number ioctls as x86 and Arm do.
_GET_SUPPORT = 0x80285700
_SET_TIMEOUT = 0xC0045706
_GET_TIMEOUT = 0x80045707
_INFO_SIZE, _IDENTITY_AT = 40, 8
_MAGIC_CLOSE, _ALARM_ONLY = 0x0100, 0x0400
_PING, _MAGIC = b"\0", b"V"


class WatchdogShell:
    """One device, by its path. Made without touching it: opening is a ping."""

    def __init__(self, path: str, sysfs: str | None) -> None:
        self._path = path
        self._sysfs = sysfs
        self._descriptor = -1

    def open(self) -> Device:
        """Raises OSError; then it is not open, or it is no watchdog and was closed again."""
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            return self._describe()
        except OSError:
            os.close(self._descriptor)
            raise

    def _describe(self) -> Device:
        info = bytearray(_INFO_SIZE)
        fcntl.ioctl(self._descriptor, _GET_SUPPORT, info)
        options = int.from_bytes(info[:4], sys.byteorder)
        identity = bytes(info[_IDENTITY_AT:]).partition(b"\0")[0].decode("ascii", "replace")
        magic_close, alarm_only = bool(options & _MAGIC_CLOSE), bool(options & _ALARM_ONLY)
        return Device(identity, self._timeout(), magic_close, self._nowayout(), alarm_only)

    def set_timeout(self, seconds: int) -> int:
        """What the device then says its timeout is. Raises OSError."""
        asked = bytearray(seconds.to_bytes(4, sys.byteorder))
        try:
            fcntl.ioctl(self._descriptor, _SET_TIMEOUT, asked)
        except OSError:
            # The driver keeps to its own, as it may keep to a rounded one: what it says next is what counts.
            return self._timeout()
        return self._timeout()

    def _timeout(self) -> int:
        answer = bytearray(4)
        fcntl.ioctl(self._descriptor, _GET_TIMEOUT, answer)
        return int.from_bytes(answer, sys.byteorder)

    def ping(self) -> None:
        """Raises OSError."""
        os.write(self._descriptor, _PING)

    def disarm(self) -> bool:
        """Close with the magic byte; whether the kernel says that the device is inactive. Raises OSError."""
        os.write(self._descriptor, _MAGIC)
        os.close(self._descriptor)
        return self._told("state") == "inactive"

    def _nowayout(self) -> bool | None:
        told = self._told("nowayout")
        return None if told is None else told != "0"

    def _told(self, name: str) -> str | None:
        """What the kernel tells of the device by this name; None if it does not, or not to us."""
        if self._sysfs is None:
            return None
        try:
            descriptor = os.open(f"{self._sysfs}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return os.read(descriptor, 64).decode("ascii", "replace").strip()
        except OSError:
            return None
        finally:
            os.close(descriptor)

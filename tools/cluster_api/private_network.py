"""A separate network for this process, with only loopback.

Cluster API's manager opens its webhook server on every interface and has no flag against that.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct
import threading
from pathlib import Path
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000
SIOCGIFFLAGS: Final = 0x8913
SIOCSIFFLAGS: Final = 0x8914
IFF_UP: Final = 0x1
# struct ifreq: the name, the flags, and the rest of a union that is longer.
IFREQ: Final = "16sH22x"


def enter_network() -> str:
    """Move this process, and all processes that it starts from now on, into a separate network.

    Returns the command that enters it. Call it before there are threads, as each has a network, and after all
    downloads. Raises PermissionError if neither root nor the kernel's settings allow it.
    """
    if threading.active_count() > 1:
        raise RuntimeError("the other threads would stay behind")
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        unshare(CLONE_NEWNET)
    else:
        # Root in a user namespace with only this user: enough to configure the network.
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _set_flags("lo", _flags("lo") | IFF_UP)
    users = "" if user == 0 else " --user --preserve-credentials"
    return f"nsenter --target {os.getpid()}{users} --net"


def is_private() -> bool:
    """True if other machines cannot reach a server that listens on every interface."""
    return not any(_flags(name) & IFF_UP for _, name in socket.if_nameindex() if name != "lo")


def unshare(what: int) -> None:
    """Leave these namespaces, as unshare(2) does."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(what) != 0:
        code = ctypes.get_errno()
        raise OSError(code or errno.EPERM, f"no namespace of our own: {os.strerror(code)}")


def _flags(interface: str) -> int:
    answer = _ioctl(SIOCGIFFLAGS, struct.pack(IFREQ, interface.encode(), 0))
    flags: int = struct.unpack(IFREQ, answer)[1]
    return flags


def _set_flags(interface: str, flags: int) -> None:
    _ioctl(SIOCSIFFLAGS, struct.pack(IFREQ, interface.encode(), flags))


def _ioctl(request: int, content: bytes) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        return fcntl.ioctl(any_socket, request, content)

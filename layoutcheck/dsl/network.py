"""No network for this process and all that it starts: a network namespace of its own, where Linux allows one.

Where it does not (a container's seccomp filter, `user.max_user_namespaces = 0`), Python's sockets refuse, and
programs that the process starts are not held back. See user_namespaces(7) and network_namespaces(7).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Any

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1  # linux/sockios.h, linux/if.h
REFUSED = "layoutcheck runs this without network"


def leave() -> str:
    """Cut this process off; "" where nothing gets out, else what still does.

    Linux makes a user namespace only for a process with one thread.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET):
        refuse_sockets()
        reason = os.strerror(ctypes.get_errno())
        return f"only Python's sockets were cut off: Linux makes no network namespace here ({reason})"
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text, encoding="ascii")
    _loopback()
    return ""


def _loopback() -> None:
    """Processes of the run may talk to each other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))


def refuse_sockets() -> None:
    """Python code of this process gets no further than that."""

    def refuse(*_args: Any, **_named: Any) -> Any:
        raise OSError(REFUSED)

    for name in ("connect", "connect_ex", "sendto", "bind"):
        setattr(socket.socket, name, refuse)

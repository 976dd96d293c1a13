"""What a parser process gives up before it looks at a stranger's file: memory, time, files, network, other programs.

Linux: resource limits, and a seccomp filter that refuses sockets, new programs, new processes, signals to others and
the calls by which such filters were escaped (io_uring, ptrace, namespaces). It needs no privilege and works in
containers. macOS has the resource limits only (and does not enforce the one on memory): there the network is not cut
off.
"""

import ctypes
import ctypes.util
import os
import platform
import resource
import signal
import struct
import sys

from app.parsing.limits import ParseLimits

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_CLONE_THREAD = 0x00010000

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_REFUSED: dict[str, tuple[int, ...]] = {
    # socket connect accept sendto recvfrom sendmsg bind listen socketpair accept4 | fork vfork execve execveat
    # kill tkill tgkill pidfd_send_signal pidfd_open setsid setpgid | ptrace process_vm_readv process_vm_writev
    # unshare setns mount umount2 pivot_root chroot bpf userfaultfd perf_event_open keyctl add_key request_key
    # io_uring_setup, memfd_create
    "x86_64": (
        *(41, 42, 43, 44, 46, 49, 50, 53, 288, 57, 58, 59, 322, 62, 200, 234, 424, 434, 112, 109, 101, 310, 311),
        *(272, 308, 165, 166, 155, 161, 321, 323, 298, 250, 248, 249, 425, 319),
    ),
    "aarch64": (
        *(198, 203, 202, 206, 211, 200, 201, 199, 242, 221, 281, 129, 130, 131, 424, 434, 157, 154, 117, 270, 271),
        *(97, 268, 40, 39, 41, 51, 280, 282, 241, 219, 217, 218, 425, 279),
    ),
}
# What a converter may do beside that: sockets of the file system, at which it waits for others of its kind and which it
# can't connect to anything; and replacing itself by a program, which is how it starts.
_CONVERTER_MAY: dict[str, frozenset[int]] = {
    "x86_64": frozenset((41, 43, 49, 50, 53, 288, 59)),  # socket accept bind listen socketpair accept4 execve
    "aarch64": frozenset((198, 202, 200, 201, 199, 242, 221)),
}
_SENDMMSG = {"x86_64": 307, "aarch64": 269}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_AF_UNIX = 1
_CONVERTER_OPEN_FILES = 512
_CONVERTER_LIBRARIES = 3 * 1024**3
"""Address space that LibreOffice maps before it has read anything, most of it never touched."""
_EPERM, _ENOSYS = 1, 38
_RETURN_ALLOW, _RETURN_ERRNO = 0x7FFF0000, 0x00050000


class ConfinementFailed(Exception):
    """The process could not be cut off from the network; it must not parse."""


def confine(limits: ParseLimits) -> None:
    """Applies all limits to this process, for good. Raises `ConfinementFailed`."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, limits.scratch_bytes)
    _limit(resource.RLIMIT_NOFILE, limits.open_files)
    limit_processor_time(limits, limits.cpu_seconds)
    _limit(resource.RLIMIT_AS, _address_space() + limits.memory_bytes)
    if sys.platform == "linux":
        _refuse_system_calls()


def limit_processor_time(limits: ParseLimits, seconds: int) -> None:
    """Ends this process (SIGXCPU) when it has used so many seconds in all. May be moved, not beyond all the limits."""
    _limit(resource.RLIMIT_CPU, seconds, limits.cpu_seconds + limits.ocr_seconds + 5)


def confine_converter(limits: ParseLimits) -> None:
    """The limits for a process that then becomes LibreOffice. Raises `ConfinementFailed`."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, limits.scratch_bytes)
    _limit(resource.RLIMIT_NOFILE, _CONVERTER_OPEN_FILES)
    _limit(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 5)
    _limit(resource.RLIMIT_AS, _CONVERTER_LIBRARIES + limits.memory_bytes)
    if sys.platform == "linux":
        _refuse_system_calls(converter=True)


def adopt_orphans() -> None:
    """Makes this process, on Linux, the parent of descendants whose own parents ended: they want to be waited for."""
    if sys.platform == "linux":
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """The kernel kills this process when its parent ends, on Linux; elsewhere the parent's own end must see to it."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    _, highest = resource.getrlimit(kind)
    wanted = soft if hard is None else hard
    if highest != resource.RLIM_INFINITY:
        wanted = min(wanted, highest)
    resource.setrlimit(kind, (min(soft, wanted), wanted))


def _address_space() -> int:
    """Bytes mapped now: limits count from there, since libraries map much that they never touch."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _prctl(option: int, *arguments: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return int(libc.prctl(option, *padded))


def _refuse_system_calls(*, converter: bool = False) -> None:
    machine = platform.machine()
    if machine not in _AUDIT_ARCH:
        raise ConfinementFailed(f"There is no system call filter for {machine}.")
    program = _filter(machine, converter=converter)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    descriptor = ctypes.create_string_buffer(header, len(header))
    if _prctl(_PR_SET_NO_NEW_PRIVS, 1) != 0:
        raise ConfinementFailed("The kernel refused no_new_privs.")
    if _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(descriptor)) != 0:
        raise ConfinementFailed(f"The kernel refused a system call filter (errno {ctypes.get_errno()}).")


def _filter(machine: str, *, converter: bool) -> bytes:
    """A classic BPF program over `struct seccomp_data`: nr at 0, arch at 4, low half of the first argument at 16."""
    load, jump_equal, jump_greater_equal, jump_set, give = 0x20, 0x15, 0x35, 0x45, 0x06
    refuse = (give, 0, 0, _RETURN_ERRNO | _EPERM)
    program = [
        (load, 0, 0, 4),
        (jump_equal, 1, 0, _AUDIT_ARCH[machine]),
        refuse,
        (load, 0, 0, 0),
    ]
    if machine == "x86_64":  # the x32 numbers would slip past the list
        program += [(jump_greater_equal, 0, 1, 0x40000000), refuse]
    for number in (*_REFUSED[machine], _SENDMMSG[machine]):
        if not (converter and number in _CONVERTER_MAY[machine]):
            program += [(jump_equal, 0, 1, number), refuse]
    if converter:
        allow = (give, 0, 0, _RETURN_ALLOW)
        program += [(jump_equal, 0, 4, _SOCKET[machine]), (load, 0, 0, 16), (jump_equal, 0, 1, _AF_UNIX), allow, refuse]
    # glibc falls back from clone3, whose flags a filter can't see, to clone; threads are allowed, processes are not.
    program += [
        (jump_equal, 0, 1, _CLONE3),
        (give, 0, 0, _RETURN_ERRNO | _ENOSYS),
        (jump_equal, 0, 3, _CLONE[machine]),
        (load, 0, 0, 16),
        (jump_set, 1, 0, _CLONE_THREAD),
        refuse,
        (give, 0, 0, _RETURN_ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)

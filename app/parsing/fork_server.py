"""A process that has every parser imported and forks itself for each document.

Importing the parsers takes a second; forking a process that has them takes milliseconds. Children serve one document
each. The server runs no thread (forking with threads is unsafe), opens no document, and hears nothing of its children.

Its control socket brings one byte and two descriptors a job; its end ends the server and all children.
- The job's socket goes to the child, which reads one line of JSON (`child.Job`) from it and writes lines to it.
- The leash stays here: when the child has ended, `exit <wait status> <peak KiB>` is written to it. When the other side
  shuts it down, the child's process group is killed; the exit line still follows.
"""

import contextlib
import gc
import os
import selectors
import signal
import socket
import sys

from app.parsing import media_types
from app.parsing.child import run
from app.parsing.confinement import adopt_orphans
from app.parsing.registry import PDF_ENGINES, registry

_OBJECTS_PER_COLLECTION = 50_000


class ForkServer:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._leashes: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        self._open = True

    def serve(self) -> None:
        """Until the control socket ends."""
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the application, which then closes us
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        try:
            while self._open:
                for key, _ in self._selector.select():
                    self._handle(key)
        finally:
            for pid in self._leashes:
                _kill_group(pid)

    def _handle(self, key: selectors.SelectorKey) -> None:
        if key.fileobj is self._control:
            self._accept()
        elif key.fileobj is self._woken:
            with contextlib.suppress(BlockingIOError):
                self._woken.recv(4096)
            self._reap()
        elif key.data in self._leashes:  # shut down by the other side, which never writes to it
            self._selector.unregister(key.fileobj)
            _kill_group(key.data)

    def _accept(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._control, 1, 2)
        if not data:
            self._open = False
        elif len(descriptors) == 2:
            self._fork(socket.socket(fileno=descriptors[0]), socket.socket(fileno=descriptors[1]))

    def _fork(self, job: socket.socket, leash: socket.socket) -> None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError:  # no process to be had: the other side sees both sockets end
            job.close()
            leash.close()
            return
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            run(job.detach(), server)
        job.close()
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # the child does the same: whoever comes first
        self._leashes[pid] = leash
        self._selector.register(leash, selectors.EVENT_READ, data=pid)

    def _reap(self) -> None:
        """Tells how jobs ended; the processes that a killed job left are only waited for."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if not pid:
                    break
                leash = self._leashes.pop(pid, None)
                if leash is None:
                    continue
                with contextlib.suppress(KeyError):
                    self._selector.unregister(leash)
                with contextlib.suppress(OSError):
                    leash.sendall(f"exit {status} {usage.ru_maxrss}\n".encode())
                leash.close()


def _kill_group(pid: int) -> None:
    """`pid` has not been waited for yet, so the number is still the child's own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    registry.register(media_types.PDF, PDF_ENGINES[sys.argv[3]])
    adopt_orphans()
    registry.preload()
    collect_seldom()
    ForkServer(control).serve()


def collect_seldom() -> None:
    """Children share what is loaded, and the collector looks only through what they make: seldom, since a parser's many
    small objects are either gone by themselves soon or part of the document."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_PER_COLLECTION)

"""A disk of its own for a test, which can be filled without harm. Only root can mount one."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MEGABYTE = 1024**2


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """An empty disk of so many bytes, as `mount` writes them (`700m`). Skips where none can be mounted.

    Not among pytest's folders: it fails when it can't remove an old one, and a run that was killed leaves the disk.
    """
    folder = Path(tempfile.mkdtemp(prefix="biggraph-disk-"))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], check=False)
    if mounted.returncode != 0:
        folder.rmdir()
        pytest.skip("a small disk can be mounted by root only")
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Until the block ends there is no room for anything."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (MEGABYTE, 4096):
            with suppress(OSError):
                while file.write(bytes(size)):
                    pass
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Until the block ends nothing can be written."""
    _remount(disk, "ro")
    try:
        yield
    finally:
        _remount(disk, "rw")


def _remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)

"""Folders of files that are made once and kept: written whole or not at all, and made again when damaged."""

import fcntl
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_MANIFEST = "manifest.json"
_SCRATCH = ".building-"
_log = logging.getLogger(__name__)


def cached_folder(parent: Path, name: str, build: Callable[[Path], None]) -> Path:
    """The folder `parent/name` with what `build` wrote into it.

    `name` carries the version of its content. Every file is held to the checksum noted when it was written, so a
    folder that a full disk, a crash or a hand has damaged is built again. Several processes may call this at once: one
    builds and the others wait for it. On a file system without locks each builds, and the first to finish is kept.
    """
    folder = parent / name
    if _is_intact(folder):
        return folder
    parent.mkdir(parents=True, exist_ok=True)
    with _turn(parent) as is_alone:
        if is_alone:
            _remove_abandoned(parent)
        if not _is_intact(folder):
            _build(folder, build)
    return folder


def discard(folder: Path) -> None:
    """Has the next `cached_folder` build it again, though it is as it was written: it is of no use here.

    Raises `OSError` where the folder can't be written.
    """
    (folder / _MANIFEST).unlink(missing_ok=True)


@contextmanager
def _turn(parent: Path) -> Iterator[bool]:
    """Waits until nobody else is in this block. False where that can't be had: some network file systems lack locks."""
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            is_alone = False
        else:
            is_alone = True
        try:
            yield is_alone
        finally:
            if is_alone:
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for a process forked meanwhile, which has it open too
    finally:
        os.close(descriptor)


def _remove_abandoned(parent: Path) -> None:
    """What processes that were killed left: else one that never has the memory to finish fills the disk."""
    for path in parent.glob(f"{_SCRATCH}*"):
        shutil.rmtree(path, ignore_errors=True)


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}{folder.name}-", dir=folder.parent) as scratch:
        built = Path(scratch) / "built"
        built.mkdir()
        build(built)
        _write_manifest(built)
        if folder.exists() and not _is_intact(folder):
            _log.warning("%s is damaged and is replaced.", folder)
            _move_aside(folder, Path(scratch) / "damaged")
        try:
            built.rename(folder)
        except OSError:
            # Another process was first. Its copy is as good, unless it is not.
            if not _is_intact(folder):
                raise


def _move_aside(folder: Path, target: Path) -> None:
    try:
        folder.rename(target)
    except FileNotFoundError:
        return  # another process moved it
    shutil.rmtree(target, ignore_errors=True)


def _write_manifest(folder: Path) -> None:
    checksums = {}
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            checksums[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
    with (folder / _MANIFEST).open("w") as manifest:
        json.dump(checksums, manifest, indent=1)
        manifest.flush()
        os.fsync(manifest.fileno())


def _is_intact(folder: Path) -> bool:
    try:
        checksums = json.loads((folder / _MANIFEST).read_text())
        for name, expected in checksums.items():
            with (folder / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                    return False
    except (OSError, ValueError, AttributeError):
        return False
    return bool(checksums)

"""Folders of files that are made once and kept: written whole or not at all, and made again when damaged."""

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_MANIFEST = "manifest.json"
_log = logging.getLogger(__name__)


def cached_folder(parent: Path, name: str, build: Callable[[Path], None]) -> Path:
    """The folder `parent/name` with what `build` wrote into it.

    `name` carries the version of its content. Every file is held to the checksum noted when it was written, so a
    folder that a full disk, a crash or a hand has damaged is built again. Several processes may call this at once:
    each builds its own copy and the first to finish is kept.
    """
    folder = parent / name
    if _is_intact(folder):
        return folder
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=parent) as scratch:
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
    return folder


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

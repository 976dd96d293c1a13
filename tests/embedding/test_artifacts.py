"""Folders that are made once."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.adapters.embedding.artifacts import cached_folder, discard


class Builder:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, folder: Path) -> None:
        self.calls += 1
        (folder / "weights.bin").write_bytes(b"w" * 1000)
        (folder / "graph.onnx").write_bytes(b"g")


def test_built_once(tmp_path: Path) -> None:
    build = Builder()
    first = cached_folder(tmp_path / "models", "m-1", build)
    assert cached_folder(tmp_path / "models", "m-1", build) == first
    assert (first / "weights.bin").read_bytes() == b"w" * 1000
    assert build.calls == 1
    assert [path.name for path in first.parent.iterdir()] == ["m-1"]


@pytest.mark.parametrize("damage", ["short", "changed", "missing", "no manifest", "bad manifest", "empty", "a file"])
def test_rebuilt_when_damaged(tmp_path: Path, damage: str) -> None:
    build = Builder()
    folder = cached_folder(tmp_path, "m-1", build)
    match damage:
        case "short":
            (folder / "weights.bin").write_bytes(b"w" * 999)
        case "changed":
            (folder / "weights.bin").write_bytes(b"w" * 999 + b"x")
        case "missing":
            (folder / "graph.onnx").unlink()
        case "no manifest":
            (folder / "manifest.json").unlink()
        case "bad manifest":
            (folder / "manifest.json").write_text("[1]")
        case "empty":
            for path in folder.iterdir():
                path.unlink()
        case "a file":
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()
            folder.write_bytes(b"")
    assert cached_folder(tmp_path, "m-1", build) == folder
    assert (folder / "weights.bin").read_bytes() == b"w" * 1000
    assert (folder / "graph.onnx").read_bytes() == b"g"
    assert build.calls == 2
    assert [path.name for path in tmp_path.iterdir()] == ["m-1"]


def test_a_failing_build_leaves_nothing(tmp_path: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "weights.bin").write_bytes(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cached_folder(tmp_path, "m-1", build)
    assert list(tmp_path.iterdir()) == []


def in_threads(folder: Path, build: Callable[[Path], None]) -> list[Path]:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(cached_folder(folder, "m-1", build))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_of_several_at_once_one_builds(tmp_path: Path) -> None:
    build = Builder()
    assert in_threads(tmp_path, build) == [tmp_path / "m-1"] * 4
    assert build.calls == 1


def test_without_locks_several_may_build_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(4)

    def build(folder: Path) -> None:
        together.wait(10)
        Builder()(folder)

    def flock(*_: int) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr("fcntl.flock", flock)
    assert in_threads(tmp_path, build) == [tmp_path / "m-1"] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["m-1"]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    program = f"""
import os
from pathlib import Path
from app.adapters.embedding.artifacts import cached_folder, discard
def build(folder):
    (folder / "weights.bin").write_bytes(bytes(1000))
    os._exit(9)
cached_folder(Path({str(tmp_path)!r}), "m-0", build)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    assert list(tmp_path.iterdir())
    cached_folder(tmp_path, "m-1", Builder())
    assert [path.name for path in tmp_path.iterdir()] == ["m-1"]


def test_what_was_discarded_is_built_again(tmp_path: Path) -> None:
    build = Builder()
    discard(cached_folder(tmp_path, "m-1", build))
    discard(tmp_path / "nothing")
    cached_folder(tmp_path, "m-1", build)
    assert build.calls == 2

"""Libraries that tell their makers of their use, from threads or processes that they start for it, do not."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
def forbid(event, arguments):
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if event in ("socket.connect", "socket.getaddrinfo", "os.fork", "subprocess.Popen") or writes:
        os.write(2, f"{event} {arguments[0]}".encode())
        os._exit(1)
sys.addaudithook(forbid)
import app, importlib
importlib.import_module(sys.argv[1])
"""


@pytest.mark.parametrize("library", ["onnxruntime", "openvino"])
def test_nobody_is_told(library: str, tmp_path: Path) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} has no package for this system.")
    # None of the variables of continuous integration, under which they keep silent by themselves.
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, library],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())  # native code is not audited, but leaves the id that it would send

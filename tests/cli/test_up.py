"""Starting and stopping: what is said, and how the process ends."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.invocation import invocation
from app.cli.main import run
from app.core import data_folder
from app.core.head_limit import MAX_HEAD_BYTES
from tests.e2e.shapes import REPOSITORY, START_SECONDS, STOP_SECONDS, free_port

UP = ["-m", "app.cli", "up"]


def settings(data: Path) -> dict[str, str]:
    return {**os.environ, "BIGGRAPH_DATA_DIR": str(data), "BIGGRAPH_PORT": str(free_port())}


def test_a_folder_in_use_is_told_before_the_engines_are_imported(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", *UP]
    with data_folder.locked(tmp_path):
        ended = subprocess.run(
            command,
            check=False,
            cwd=REPOSITORY,
            env=settings(tmp_path),
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
        )
    assert ended.returncode == 1
    assert "data_folder_in_use" in ended.stderr
    assert "uvicorn" in ended.stderr  # imports are told of
    assert "app.main" not in ended.stderr


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bg-", ignore_cleanup_errors=True) as made:  # Postgres's user must reach it
        yield Path(made)


def test_it_serves_and_stops_when_it_is_told_to(folder: Path) -> None:
    environment = settings(folder / "data")
    with subprocess.Popen(
        [sys.executable, *UP], cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = ""
        try:
            for line in process.stdout:
                said += line
                if "Ctrl-C stops it" in line:
                    with socket.create_connection(("127.0.0.1", int(environment["BIGGRAPH_PORT"]))) as caller:
                        caller.sendall(b"GET /healthz HTTP/1.1\r\nx-long: " + b"y" * MAX_HEAD_BYTES)
                        answered = caller.recv(12)
                    process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0
        finally:
            process.kill()
    assert answered == b"HTTP/1.1 431"
    assert said.endswith("Stopped.\n")
    with data_folder.locked(folder / "data"):  # is free again
        pass


SERVERS = ("DATABASE_URL", "REDIS_URL", "QDRANT_URL", "ELASTICSEARCH_URL")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {},
            "embedded_worker: A separate worker needs servers. Set DATABASE_URL, REDIS_URL, QDRANT_URL, ELASTICSEARCH",
        ),
        ({"QDRANT_URL": "http://localhost:1"}, "Set DATABASE_URL, REDIS_URL, ELASTICSEARCH_URL; without them"),
        ({"DATABASE_URL": "postgresql://localhost/x"}, "bad_setting: DATABASE_URL without REDIS_URL: API and workers"),
        ({"BIGGRAPH_PORT": "many"}, "bad_setting: BIGGRAPH_PORT: Input should be a valid integer"),
    ],
    ids=["no server", "one server", "no broker", "no number"],
)
def test_a_worker_that_cannot_start_says_in_one_line_what_to_set(
    folder: Path, given: dict[str, str], said: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "celery", "--workdir", str(REPOSITORY), "-A", "workers", "worker"],
        check=False,
        cwd=folder,  # where no `.env` sets anything
        env={**os.environ, **dict.fromkeys(SERVERS, ""), **given},
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
    )
    assert ended.returncode == 1
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1, ended.stderr


def test_a_bad_setting_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDIS_URL", "")
    monkeypatch.setenv("DATABASE_URL", "postgresql://localhost/x")
    assert run(["up"]) == 1
    assert capsys.readouterr().err == (
        "bad_setting: DATABASE_URL without REDIS_URL: API and workers on a server need a broker they share.\n"
    )


@pytest.mark.parametrize(("arguments", "code"), [(["kb", "--help"], 0), (["whoami"], 1), (["nonsense"], 2)])
def test_a_command_ends_without_tidying_up(tmp_path: Path, arguments: list[str], code: int) -> None:
    program = "import atexit, app.cli; atexit.register(print, 'tidied up'); app.cli.main()"
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=False,
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
    )
    assert ended.returncode == code
    assert "Knowledge bases." in ended.stdout if code == 0 else ended.stderr
    assert "tidied up" not in ended.stdout


@pytest.mark.parametrize(
    ("called", "on_path", "expected"),
    [
        (".venv/bin/biggraph", None, ".venv/bin/biggraph"),
        ("{here}/.venv/bin/biggraph", "{here}/other/biggraph", ".venv/bin/biggraph"),
        ("{here}/.venv/bin/biggraph", "{here}/.venv/bin/biggraph", "biggraph"),
        ("/opt/b g/bin/biggraph", None, "'/opt/b g/bin/biggraph'"),
    ],
)
def test_the_way_to_call_it_again_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, on_path: str | None, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    for path in (called, on_path or called):
        if "{here}" in path:
            file = Path(path.format(here=tmp_path))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o755)
    if on_path is not None:
        monkeypatch.setenv("PATH", str(Path(on_path.format(here=tmp_path)).parent))
    monkeypatch.setattr(sys, "argv", [called.format(here=tmp_path), "up"])
    assert invocation() == expected


def test_the_module_is_called_again_as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(REPOSITORY / "app/cli/__main__.py"), "up"])
    monkeypatch.chdir("/")
    assert invocation().endswith(" -m app.cli")

"""The platform as its users run it: real processes, told apart only by their environment."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

REPOSITORY = Path(__file__).parents[2]
SHARED = REPOSITORY.parent / "shared"
START_SECONDS = 120
STOP_SECONDS = 60
MAX_UPLOAD_BYTES = 8 * 1024**2
COMMON = {
    # The machine may be busy with other tests: a search is late only when it hangs, and nobody is logged out meanwhile.
    "BIGGRAPH_ACCESS_TOKEN_MINUTES": "240",
    "BIGGRAPH_RETRIEVAL_TIMEOUT_SECONDS": "20",
    "BIGGRAPH_LEASE_SECONDS": "3",
    "BIGGRAPH_SWEEP_SECONDS": "0.5",
    "BIGGRAPH_MAX_UPLOAD_BYTES": str(MAX_UPLOAD_BYTES),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Process:
    """A process that was started here and may be ended here."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    popen: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(
                self.command,
                cwd=REPOSITORY,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Sends a signal to the process alone, not to its children, and waits until it is gone."""
        if self.popen is not None and self.popen.poll() is None:
            self.popen.send_signal(number)
            self.popen.wait(STOP_SECONDS)

    def kill_with_children(self) -> None:
        """What is left of a test: nothing."""
        if self.popen is None:
            return
        try:
            tree = [psutil.Process(self.popen.pid), *psutil.Process(self.popen.pid).children(recursive=True)]
        except psutil.NoSuchProcess:
            tree = []
        for process in tree:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self.popen.wait(STOP_SECONDS)

    def children(self, part: str) -> list[psutil.Process]:
        """Processes under this one whose command line holds `part`."""
        tree = psutil.Process(self.popen.pid).children(recursive=True) if self.popen else []
        alive = [child for child in tree if child.status() != psutil.STATUS_ZOMBIE]
        return [child for child in alive if any(part in argument for argument in child.cmdline())]

    @property
    def running(self) -> bool:
        return self.popen is not None and self.popen.poll() is None


@dataclass
class Service:
    """A running platform: its address and its processes, the API first."""

    shape: str
    folder: Path
    port: int
    environment: dict[str, str]
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def blobs(self) -> Path:
        return self.folder / "blobs" if self.shape == "servers" else self.data / "blobs"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def files(self) -> list[str]:
        """What the blob store keeps of all tenants."""
        return sorted(str(path) for path in self.blobs.rglob("*") if path.is_file() and path.name != "probe")

    def add(self, name: str, command: list[str], extra: dict[str, str] | None = None) -> Process:
        process = Process(name, command, {**self.environment, **(extra or {})}, self.folder / f"{name}.log")
        self.processes[name] = process
        return process

    def wait_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        api = self.processes["api"]
        while time.monotonic() < deadline:
            if not api.running:
                raise AssertionError(f"the API ended at its start:\n{self.tail('api')}")
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.1)
        raise AssertionError(f"not ready after {START_SECONDS} s:\n{self.tail('api')}")

    def tail(self, name: str, size: int = 4000) -> str:
        return self.processes[name].log.read_text(errors="replace")[-size:]

    def stop(self) -> None:
        for process in self.processes.values():
            process.end()

    def destroy(self) -> None:
        """Ends what is left of it, the embedded servers too: they outlive an application that was killed."""
        for process in self.processes.values():
            process.kill_with_children()
        for left in psutil.process_iter(["cmdline"]):
            if any(str(self.folder) in argument for argument in left.info["cmdline"] or ()):
                with contextlib.suppress(psutil.NoSuchProcess):
                    left.kill()


def embedded(folder: Path, *, extra: dict[str, str] | None = None, entry: list[str] | None = None) -> Service:
    """Everything in one process tree. `entry` runs instead of `biggraph up`."""
    port = free_port()
    environment = {
        "BIGGRAPH_PORT": str(port),
        "BIGGRAPH_DATA_DIR": str(folder / "data"),
        **COMMON,
        **(extra or {}),
    }
    service = Service("embedded", folder, port, environment)
    service.add("api", entry or [sys.executable, "-m", "app.cli", "up"])
    return service


@dataclass(frozen=True)
class Servers:
    """Addresses of servers that tests may use, each with names of its own in them."""

    database_owner_url: str
    database_url: str
    redis_url: str
    elasticsearch_url: str
    qdrant_url: str


def on_servers(folder: Path, servers: Servers, *, workers: int = 2, extra: dict[str, str] | None = None) -> Service:
    """API and workers as separate processes over PostgreSQL, Redis, Elasticsearch and Qdrant."""
    port = free_port()
    environment = {
        "BIGGRAPH_PORT": str(port),
        "BIGGRAPH_DATA_DIR": str(folder / "data"),
        "BIGGRAPH_SECRET_KEY": secrets.token_hex(32),
        "BIGGRAPH_INDEX_PREFIX": f"e2e-{secrets.token_hex(4)}",
        "DATABASE_URL": servers.database_url,
        "DATABASE_OWNER_URL": servers.database_owner_url,
        "REDIS_URL": servers.redis_url,
        "ELASTICSEARCH_URL": servers.elasticsearch_url,
        "QDRANT_URL": servers.qdrant_url,
        "BLOB_URL": (folder / "blobs").as_uri(),
        "BIGGRAPH_WORKER_CONCURRENCY": "1",
        **COMMON,
        **(extra or {}),
    }
    service = Service("servers", folder, port, environment)
    service.add("api", [sys.executable, "-m", "app.cli", "up"])
    for number in range(1, workers + 1):
        service.add(
            f"worker{number}",
            [sys.executable, "-m", "celery", "-A", "workers", "worker", "--without-gossip", "--without-mingle",
             "--hostname", f"worker{number}@e2e"],
        )  # fmt: skip
    return service

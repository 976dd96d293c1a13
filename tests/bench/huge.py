"""What huge documents cost: a sheet of a million rows, a PDF of a thousand pages, a text of 199 MiB.

    python -m tests.bench.huge [--rows 1000000] [--pages 1000] [--mebibytes 199] [--whole]

They are parsed, then ingested. Prints, for each file, the peak of the parser process, how far the peak of the process
that asked for it grew, how often progress was told; then the same for a server that ingests it, and how long it takes
to heed a cancellation while it parses and while it embeds. Embedding is cancelled after a few batches, because it
takes what the embedder takes; with `--whole` it is waited for. Linux only: peaks are read from /proc.
"""

import argparse
import asyncio
import os
import socket
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from app.parsing.sandbox import ParseUsage, parse_file, start_sandbox, stop_sandbox
from tests.bench.huge_files import write_csv, write_pdf, write_text, write_xlsx

ENDED = ("succeeded", "failed", "cancelled")
Operation = dict[str, Any]


def peak_mib(pid: int | str = "self") -> float:
    """The most memory that was resident since the process began or its peak was forgotten."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def forget_peak(pid: int | str = "self") -> float:
    """Lets the peak begin at what is resident now, in MiB (proc(5), clear_refs)."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak_mib(pid)


async def parse(path: Path, folder: Path) -> None:
    size = await asyncio.to_thread(path.stat)
    usage: list[ParseUsage] = []
    told: list[int] = []
    before, began = forget_peak(), time.perf_counter()
    with tempfile.TemporaryDirectory(dir=folder) as cells:
        document = await parse_file(
            path, file_name=path.name, usage=usage, progress=lambda done, _: told.append(done), cells=Path(cells)
        )
    print(
        f"{path.name:10} {size.st_size / 2**20:6.1f} MiB: {time.perf_counter() - began:6.1f} s, parser "
        f"{usage[0].peak_memory_kib / 1024:6.0f} MiB, asking process +{peak_mib() - before:5.0f} MiB, progress told "
        f"{len(told)} times; {' '.join(document.warnings)}"
    )


@dataclass(frozen=True)
class Server:
    """An application of its own on embedded engines, and a client that is logged in."""

    pid: int
    http: httpx.AsyncClient
    kb: str

    async def upload(self, path: Path) -> str:
        with path.open("rb") as file:
            answer = await self.http.post(f"/v1/knowledge-bases/{self.kb}/documents", files={"file": (path.name, file)})
        answer.raise_for_status()
        operation: str = answer.json()["operation"]["id"]
        return operation

    async def until(self, operation_id: str, reached: Callable[[Operation], bool]) -> tuple[Operation, set[str]]:
        """The operation when it is as wanted or has ended, and the places that were seen on the way."""
        seen: set[str] = set()
        while True:
            operation = (await self.http.get(f"/v1/operations/{operation_id}")).json()
            last = operation["stages"][-1] if operation["stages"] else {"stage": "", "done": 0, "total": None}
            seen.add(f"{last['stage']} {last['done']}")
            if reached(operation) or operation["state"] in ENDED:
                return operation, seen
            await asyncio.sleep(0.2)

    async def cancelled_in(self, operation_id: str) -> float:
        """Seconds from the request until the operation has ended."""
        began = time.perf_counter()
        (await self.http.post(f"/v1/operations/{operation_id}:cancel")).raise_for_status()
        await self.until(operation_id, lambda operation: False)
        return time.perf_counter() - began


@asynccontextmanager
async def server(folder: Path) -> AsyncIterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"BIGGRAPH_DATA_DIR": str(folder), "BIGGRAPH_PORT": str(port), "BIGGRAPH_LOG_LEVEL": "WARNING"}
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "app.cli", "up", env=os.environ | settings)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=600) as http:
            await _ready(http, process)
            body = {"email": "huge@example.com", "password": "a long password", "tenant": "Huge"}
            tokens = (await http.post("/v1/auth/register", json=body)).raise_for_status().json()
            http.headers["authorization"] = f"Bearer {tokens['access_token']}"
            kb = (await http.post("/v1/knowledge-bases", json={"name": "huge"})).raise_for_status().json()["id"]
            yield Server(process.pid, http, kb)
    finally:
        process.terminate()
        await process.wait()


async def _ready(http: httpx.AsyncClient, process: Process) -> None:
    while process.returncode is None:
        try:
            if (await http.get("/readyz")).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            await asyncio.sleep(0.5)
    raise SystemExit("The server did not start.")


async def ingest(one: Server, path: Path, *, whole: bool) -> None:
    before = forget_peak(one.pid)
    operation_id = await one.upload(path)
    _, seen = await one.until(operation_id, lambda found: found["percent"] > 2)
    while_parsing = await one.cancelled_in(operation_id)
    (await one.http.post(f"/v1/operations/{operation_id}:retry")).raise_for_status()
    began = time.perf_counter()
    operation, more = await one.until(operation_id, lambda found: found["percent"] > 21 and not whole)
    seen |= more
    said = f"{operation['state']} after {time.perf_counter() - began:.0f} s ({operation['stage']})"
    if operation["state"] not in ENDED:
        said += f", cancelled in {await one.cancelled_in(operation_id):.1f} s"
    print(
        f"{path.name:10} ingestion: cancelled while parsing in {while_parsing:.1f} s; {said}; server "
        f"+{peak_mib(one.pid) - before:.0f} MiB from {before:.0f}; progress seen at {len(seen)} places"
    )


async def main(rows: int, pages: int, mebibytes: int, *, whole: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="bg-huge-") as name:
        folder = Path(name)
        files = [folder / "rows.csv", folder / "rows.xlsx", folder / "pages.pdf", folder / "prose.txt"]
        writers = (write_csv, write_xlsx, write_pdf, write_text)
        for path, write, size in zip(files, writers, (rows, rows, pages, mebibytes), strict=True):
            await asyncio.to_thread(write, path, size)
        await start_sandbox()
        for path in files:
            await parse(path, folder)
        await stop_sandbox()
        async with server(folder / "data") as one:
            for path in files:
                await ingest(one, path, whole=whole)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.huge", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--mebibytes", type=int, default=199, help="of text")
    parser.add_argument("--whole", action="store_true", help="wait for the embedding of all chunks")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.rows, arguments.pages, arguments.mebibytes, whole=arguments.whole))

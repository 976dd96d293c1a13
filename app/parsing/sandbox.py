"""Parsing what strangers upload: each document in a process of its own that can be killed and can do no harm.

Every way to end is a reason code: what the parser itself says, `timed_out`, `out_of_memory`, `too_complex` (a result
that is too large), `parser_crashed` (a signal). Only a sandbox that can't be had is `EngineUnavailable`, which may be
retried.
"""

import asyncio
import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import EngineUnavailable, ParseFailed
from app.parsing.child import CELLS_NAME, NOT_CONFINED, RESULT_NAME, STANDARD_ERROR_NAME, Job
from app.parsing.document import ParsedDocument
from app.parsing.handover import load_document, open_plain, stored_pages, take_page
from app.parsing.limits import ParseLimits
from app.parsing.reasons import REASONS, parse_failure
from app.parsing.server_process import ServerProcess
from app.parsing.settings import ParsingSettings
from app.parsing.source import Progress, no_progress, nothing_to_tell

_SECONDS_TO_DIE = 10
_STANDARD_ERROR_READ = 16 * 1024
# What C++, Rust, MuPDF and onnxruntime print before they abort for want of memory: the only sign of it that they leave.
_MEMORY_SIGNS = (
    b"bad_alloc",
    b"memory allocation of",
    b"MemoryError",
    b"cannot allocate memory",
    b"to allocate memory",
)

_server = ServerProcess()


@dataclass(frozen=True, slots=True)
class ParseUsage:
    """What a parse took."""

    peak_memory_kib: int
    """Resident, of the parser process; about 60 MiB of it are shared with the fork server."""


@dataclass(frozen=True, slots=True)
class _Exit:
    status: int
    peak_memory_kib: int


@dataclass(frozen=True, slots=True)
class _Child:
    """Our ends of the sockets that a child is led by: see `fork_server`."""

    job_reader: asyncio.StreamReader
    job_writer: asyncio.StreamWriter
    leash_reader: asyncio.StreamReader
    leash_writer: asyncio.StreamWriter


async def parse_file(
    path: Path,
    *,
    file_name: str,
    limits: ParseLimits | None = None,
    password: str | None = None,
    settings: ParsingSettings | None = None,
    progress: Progress = no_progress,
    usage: list[ParseUsage] | None = None,
    cells: Path | None = None,
) -> ParsedDocument:
    """Parses a local file (an absolute path) in a confined process; `progress` is called on the event loop.

    `cells` is a folder for the cells of large tables, which are dropped without one. `usage`, when given, gets one
    entry, also where parsing fails. A cancelled call returns when the process is dead.
    Raises `ParseFailed` with a reason code, `EngineUnavailable`.
    """
    limits = limits or ParseLimits()
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="biggraph-parse-"))
    try:
        job = Job(
            path=path,
            file_name=file_name,
            scratch=scratch,
            limits=limits,
            password=password,
            settings=settings or ParsingSettings(),
        )
        failure, ended = await _run(job, progress)
        if usage is not None:
            usage.append(ParseUsage(ended.peak_memory_kib))
        if ended.status != 0 or failure is not None:
            raise _explained(ended, failure, scratch, limits)
        document = await asyncio.to_thread(load_document, scratch / RESULT_NAME, limits)
        if cells is not None:
            await _take_cells(document, scratch / CELLS_NAME, cells, limits)
        return document
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True))


async def _take_cells(document: ParsedDocument, folder: Path, target: Path, limits: ParseLimits) -> None:
    left = limits.stored_bytes
    for table, page in stored_pages(document):
        left -= await asyncio.to_thread(take_page, folder, target, table, page, left)


async def start_sandbox(pdf_engine: str = "pymupdf") -> None:
    """Warms the sandbox up, from now on with that engine for PDF; without it the first document waits a second."""
    await asyncio.to_thread(_server.start, pdf_engine)


async def stop_sandbox() -> None:
    """Ends the parser processes of this process."""
    await asyncio.to_thread(_server.stop)


async def _run(job: Job, progress: Progress) -> tuple[ParseFailed | None, _Exit]:
    """What the child said, and how it ended. However this is left, the child is dead by then."""
    starting = asyncio.create_task(_started())
    try:
        child = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.shield(_abandoned(starting))
        raise
    ended: _Exit | None = None
    failure: ParseFailed | None = None
    try:
        async with asyncio.timeout(job.limits.wall_seconds) as deadline:
            child.job_writer.write(job.model_dump_json().encode() + b"\n")
            more_time = functools.partial(_extend, deadline, job.limits.ocr_seconds)
            failure = await _follow(child.job_reader, progress, more_time)
            ended = await _exit(child.leash_reader)
    except TimeoutError:
        raise parse_failure("timed_out") from None
    finally:
        await asyncio.shield(_end(child, ended))
    if ended is None:
        raise EngineUnavailable("The parser process went away.")
    return failure, ended


async def _started() -> _Child:
    near_job, far_job = socket.socketpair()
    near_leash, far_leash = socket.socketpair()
    with far_job, far_leash:
        try:
            await asyncio.to_thread(_server.start_job, far_job, far_leash)
        except BaseException:
            near_job.close()
            near_leash.close()
            raise
    job_reader, job_writer = await asyncio.open_unix_connection(sock=near_job)
    leash_reader, leash_writer = await asyncio.open_unix_connection(sock=near_leash)
    return _Child(job_reader, job_writer, leash_reader, leash_writer)


async def _abandoned(starting: "asyncio.Task[_Child]") -> None:
    """Ends a child that nobody waits for any more, as soon as it has started."""
    with contextlib.suppress(EngineUnavailable):
        await _end(await starting, None)


async def _follow(
    reader: asyncio.StreamReader, progress: Progress, give_more_time: Callable[[], None]
) -> ParseFailed | None:
    """Reads the child's lines to their end. It is not trusted: what is no message of ours is skipped."""
    failure: ParseFailed | None = None
    with contextlib.suppress(ConnectionError, ValueError):  # a line beyond the reader's limit is a ValueError
        while line := await reader.readline():
            message = json.loads(line)
            match message:
                case {"progress": [int(done), int(total)]}:
                    progress(done, total)
                case {"recognising": True}:
                    give_more_time()
                    give_more_time = nothing_to_tell  # it is given once
                case {"failed": {"code": str(code), "detail": str(detail)}} if code in REASONS:
                    failure = ParseFailed(detail, code=code)
    return failure


def _extend(deadline: asyncio.Timeout, seconds: float) -> None:
    until = deadline.when()
    if until is not None:
        deadline.reschedule(until + seconds)


async def _exit(reader: asyncio.StreamReader) -> _Exit | None:
    with contextlib.suppress(ConnectionError):
        match (await reader.readline()).split():
            case [b"exit", status, peak]:
                return _Exit(int(status), int(peak))
    return None


async def _end(child: _Child, ended: _Exit | None) -> None:
    """Kills the child if it may still run, and waits until it is gone."""
    child.job_writer.close()
    if ended is None:
        with contextlib.suppress(OSError, TimeoutError):
            child.leash_writer.write_eof()
            async with asyncio.timeout(_SECONDS_TO_DIE):
                await child.leash_reader.read()
    child.leash_writer.close()


def _explained(ended: _Exit, failure: ParseFailed | None, scratch: Path, limits: ParseLimits) -> Exception:
    """The error for a child that ended without a document."""
    if failure is not None:
        return failure
    if not os.WIFSIGNALED(ended.status):
        if os.waitstatus_to_exitcode(ended.status) == NOT_CONFINED:
            return EngineUnavailable("This system offers no way to cut a parser off from the network.")
        reason = "out_of_memory" if _says_memory(scratch) else "parser_crashed"
        return parse_failure(reason)
    if os.WTERMSIG(ended.status) == signal.SIGXCPU:
        return parse_failure("timed_out")
    near_limit = ended.peak_memory_kib * 1024 > 0.8 * limits.memory_bytes
    return parse_failure("out_of_memory" if near_limit or _says_memory(scratch) else "parser_crashed")


def _says_memory(scratch: Path) -> bool:
    try:
        with open_plain(scratch / STANDARD_ERROR_NAME) as file:
            said = file.read(_STANDARD_ERROR_READ)
    except OSError:
        return False
    return any(sign in said for sign in _MEMORY_SIGNS)

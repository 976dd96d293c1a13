"""One document in a forked process: confine, parse, write the result, end."""

import errno
import functools
import json
import os
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import NoReturn

from pydantic import BaseModel, Field

from app.core.errors import ParseFailed
from app.parsing.budget import ProcessorTime
from app.parsing.confinement import ConfinementFailed, confine, die_with_parent
from app.parsing.converter import Converter, converter_for
from app.parsing.limits import ParseLimits
from app.parsing.parse import parse_document
from app.parsing.reasons import parse_failure
from app.parsing.settings import ParsingSettings
from app.parsing.source import Source

RESULT_NAME = "result.json"
CELLS_NAME = "cells"
"""A folder with the cells of large tables."""
STANDARD_ERROR_NAME = "stderr.txt"
NOT_CONFINED = 77
"""Exit status of a child that could not be cut off from the network and so did nothing."""
_JOB_DESCRIPTOR = 3
_SECONDS_BETWEEN_REPORTS = 0.2


class Job(BaseModel):
    """The request, one line of JSON. Paths are absolute; the scratch folder belongs to this job alone."""

    path: Path
    file_name: str
    scratch: Path
    limits: ParseLimits
    password: str | None = None
    settings: ParsingSettings = Field(default_factory=ParsingSettings)


def run(job_descriptor: int, server: int) -> NoReturn:
    """In a fresh fork; ends the process and never returns into the server's stack."""
    status = 1
    try:
        die_with_parent(server)
        os.setpgid(0, 0)
        status = _run(job_descriptor)
    except ConfinementFailed:
        status = NOT_CONFINED
        traceback.print_exc()
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        os._exit(status)


def _run(job_descriptor: int) -> int:
    _keep_only(job_descriptor)
    with os.fdopen(_JOB_DESCRIPTOR, "r+b", buffering=0) as channel:
        job = Job.model_validate_json(_read_line())
        _move_into(job.scratch)
        file_bytes = job.path.stat().st_size
        with converter_for(job.path, job.scratch, _for_converter(job.limits, file_bytes)) as convert:
            confine(job.limits)
            failure = _parse(job, convert, ProcessorTime(job.limits, file_bytes))
        channel.write(json.dumps({"failed": failure}).encode() + b"\n")
    return 0


def _for_converter(limits: ParseLimits, file_bytes: int) -> ParseLimits:
    """It tells of no progress: one step is all it has."""
    return limits.model_copy(update={"cpu_seconds": limits.step_cpu_seconds(file_bytes)})


def _keep_only(job_descriptor: int) -> None:
    """Descriptors of the server and of other jobs are closed; the job's becomes number 3."""
    os.dup2(job_descriptor, _JOB_DESCRIPTOR, inheritable=False)
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.closerange(_JOB_DESCRIPTOR + 1, min(highest, 1 << 20))


def _read_line() -> bytes:
    """The request: all up to a line end."""
    pieces = b""
    while not pieces.endswith(b"\n"):
        piece = os.read(_JOB_DESCRIPTOR, 65536)
        if not piece:
            raise EOFError("The request ended early.")
        pieces += piece
    return pieces


def _move_into(scratch: Path) -> None:
    """Works in the scratch folder, with the output of libraries in a file there and an empty environment."""
    os.chdir(scratch)
    Path(CELLS_NAME).mkdir()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    output = os.open(STANDARD_ERROR_NAME, flags, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.clear()
    os.environ["TMPDIR"] = str(scratch)
    tempfile.tempdir = str(scratch)


def _parse(job: Job, convert: Converter, budget: ProcessorTime) -> dict[str, str] | None:
    """Writes the document as JSON; or says why not, as code and detail."""
    source = Source(
        path=job.path,
        file_name=job.file_name,
        media_type="",
        limits=job.limits,
        password=job.password,
        progress=_Reporter(budget),
        recognising=functools.cache(functools.partial(_take_longer, budget)),
        settings=job.settings,
        convert=convert,
        cells=Path(CELLS_NAME),
    )
    try:
        document = parse_document(source)
        document.write(Path(RESULT_NAME))
    except ParseFailed as failed:
        return {"code": failed.error_code, "detail": failed.detail}
    except MemoryError:
        return _failure("out_of_memory")
    except RecursionError:
        return _failure("too_complex")
    except OSError as error:
        if error.errno in (errno.EFBIG, errno.ENOSPC):
            return _failure("too_complex")
        raise
    return None


def _take_longer(budget: ProcessorTime) -> None:
    """Raises the limit on processor time, within the hard one, and says so."""
    budget.recognise()
    os.write(_JOB_DESCRIPTOR, json.dumps({"recognising": True}).encode() + b"\n")


def _failure(reason: str) -> dict[str, str]:
    return {"code": reason, "detail": parse_failure(reason).detail}


class _Reporter:
    """Progress lines on the job's socket, not more than a few a second."""

    def __init__(self, budget: ProcessorTime) -> None:
        self._budget = budget
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        self._budget.step()
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + _SECONDS_BETWEEN_REPORTS
        os.write(_JOB_DESCRIPTOR, json.dumps({"progress": [done, total]}).encode() + b"\n")

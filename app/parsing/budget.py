"""Processor time by steps: a small file that makes no progress is given up long before the limit of a whole parse.

Bombs are small and hang at one place (a form drawn ten billion times, tags nested a hundred thousand deep); documents
that take minutes are large, or have pages to show for it. The limit is the kernel's own, moved at each step, so it
also ends what runs in a library and never returns to Python.
"""

import math
import time

from app.parsing.confinement import limit_processor_time
from app.parsing.limits import ParseLimits

_OCR_STEP_SECONDS = 120
"""What one page or picture more may take when its text is recognised, on a slow machine."""


class ProcessorTime:
    """Of the process that makes it, which has to be confined before."""

    def __init__(self, limits: ParseLimits, file_bytes: int) -> None:
        self._limits = limits
        self._step = limits.step_cpu_seconds(file_bytes)
        self._most = limits.cpu_seconds
        self.step()

    def step(self) -> None:
        """A page, sheet or chapter is done: the next one has as long again, within the limit of the whole."""
        used = math.ceil(time.process_time())  # the kernel counts whole seconds
        limit_processor_time(self._limits, min(self._most, used + self._step))

    def recognise(self) -> None:
        """Text is going to be recognised, for which `ParseLimits.ocr_seconds` come on top. Called once."""
        self._step += min(_OCR_STEP_SECONDS, self._limits.ocr_seconds)
        self._most += self._limits.ocr_seconds
        self.step()

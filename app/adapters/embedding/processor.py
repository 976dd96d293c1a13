"""What this machine's processor can do beside what every one can."""

import ctypes
import platform
from functools import cache
from pathlib import Path

_ARCH_PRCTL, _ASK_FOR_STATE, _MATRIX_TILES = 158, 0x1023, 18  # of Linux on x86-64


@cache
def features() -> frozenset[str]:
    """As Linux names them (`avx512_vnni`, `amx_bf16`, `asimddp`, ...); empty elsewhere."""
    try:
        return frozenset(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return frozenset()


@cache
def has_matrix_units() -> bool:
    """Whether it multiplies matrices of bfloat16 (Intel AMX) and the kernel lets this process do so."""
    if platform.machine() != "x86_64" or "amx_bf16" not in features():
        return False
    return bool(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _ASK_FOR_STATE, _MATRIX_TILES) == 0)

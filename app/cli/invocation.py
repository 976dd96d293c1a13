"""What a person types to call this program once more."""

import shlex
import shutil
import sys
from pathlib import Path


def invocation() -> str:
    """`biggraph` where that finds this very program, else its path, short where it lies below the current folder."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{_short(Path(sys.executable))} -m app.cli"
    found = shutil.which("biggraph")
    if found is not None and Path(found).resolve() == called.resolve():
        return "biggraph"
    return _short(called)


def _short(path: Path) -> str:
    here = Path.cwd()
    absolute = here / path
    return shlex.quote(str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute))

"""The tokens that `biggraph login` leaves for the other commands, by the address of the API."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

Tokens = dict[str, str]


def credentials_path() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "biggraph" / "credentials.json"


@contextmanager
def locked() -> Iterator[None]:
    """Keeps every other shell, and every other thread of this one, from changing the tokens meanwhile.

    `flock` belongs to the open file, so two threads that opened it each for themselves exclude one another as well.
    """
    path = credentials_path().with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def load_tokens(url: str) -> Tokens:
    """Empty where nobody is logged in."""
    return _load().get(url, {})


def store_tokens(url: str, tokens: Tokens | None) -> None:
    """Keeps the tokens in a file that only its user may read; None forgets them. The caller holds `locked`."""
    known = _load()
    if tokens is None:
        known.pop(url, None)
    else:
        known[url] = {name: tokens[name] for name in ("access_token", "refresh_token")}
    path = credentials_path()
    temporary = path.with_suffix(".new")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(known, file)
    temporary.replace(path)


def save_tokens(url: str, tokens: Tokens | None) -> None:
    with locked():
        store_tokens(url, tokens)


def _load() -> dict[str, Tokens]:
    try:
        found: dict[str, Tokens] = json.loads(credentials_path().read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found

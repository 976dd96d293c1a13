"""Where blobs lie: a URL read into a store of `obstore`."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from obstore.store import LocalStore, from_url

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, S3Config

_STAGED = re.compile(r".+#\d+")
_STALE_SECONDS = 24 * 3600


def folder_of(url: str) -> Path | None:
    """The folder that a `file:` URL names; None for other schemes."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def open_store(url: str) -> "ObjectStore":
    """`file:///folder`, or `s3://bucket/prefix?endpoint=http://host:9000&region=…`.

    The query of an S3 URL holds settings as `obstore` names them (`access_key_id`, `virtual_hosted_style_request`, …);
    what it lacks is taken from the usual AWS variables.
    """
    folder = folder_of(url)
    if folder is not None:
        return LocalStore(folder, mkdir=True, automatic_cleanup=True)
    parts = urlsplit(url)
    settings: S3Config = dict(parse_qsl(parts.query, keep_blank_values=True))  # type: ignore[assignment]  # obstore checks
    client: ClientConfig = {
        "allow_http": settings.get("endpoint", "").startswith("http://"),
        "connect_timeout": "5s",
        "read_timeout": "30s",
        "timeout": "600s",  # of a whole download, which goes as fast as its reader
    }
    return from_url(
        parts._replace(query="").geturl(),
        config=settings,
        client_options=client,
        retry_config={"max_retries": 3},
    )


def remove_stale_uploads(folder: Path) -> None:
    """Removes files that uploads left unfinished when their process was killed. They were never visible as blobs.

    Only old ones: another process may be uploading.
    """
    oldest = time.time() - _STALE_SECONDS
    for path in folder.rglob("*#*"):
        if _STAGED.fullmatch(path.name) and path.is_file() and path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)

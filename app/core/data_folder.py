"""The folder of the embedded engines belongs to one process: they bear no second writer."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core.errors import BigGraphError


class DataFolderInUse(BigGraphError):
    code = "data_folder_in_use"
    status = 500


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Makes the folder where it is missing and holds it while the block runs. Raises `DataFolderInUse`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataFolderInUse(
                f"Another BigGraph uses {folder}. Stop it, or set BIGGRAPH_DATA_DIR to another folder."
            ) from error
        yield

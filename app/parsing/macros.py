"""Programs inside office files. Nothing here runs or reads them; that they were there is told."""

import zipfile
from pathlib import Path

from app.parsing import containers
from app.parsing.archives import UNREADABLE

WARNING = "The file holds macros, which were ignored."
_STORAGES = frozenset(("macros", "_vba_project_cur", "vba"))
"""Of Word, of Excel, and of what has no other (MS-OVBA 1.3.1)."""


def holds_macros(path: Path) -> bool:
    """Whether an archive has VBA (OOXML) or scripts (OpenDocument), or an OLE container has a VBA project.

    PowerPoint's old format keeps its project inside of the presentation's own stream, where it is not looked for.
    """
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                return any(map(_is_program, archive.namelist()))
        except UNREADABLE:
            return False
    return containers.is_container(path) and not _STORAGES.isdisjoint(containers.names_at_top(path))


def _is_program(name: str) -> bool:
    scripts = name.startswith(("Basic/", "Scripts/")) and not name.endswith(("/", "-lc.xml", "-lb.xml"))
    return scripts or name.lower().endswith("/vbaproject.bin")

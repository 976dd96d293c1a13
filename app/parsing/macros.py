"""Programs inside office files. Nothing here runs or reads them; that they were there is told."""

import zipfile
from pathlib import Path

import olefile

from app.parsing.archives import UNREADABLE

WARNING = "The file holds macros, which were ignored."
_STORAGES = ("Macros", "_VBA_PROJECT_CUR", "VBA")  # of Word, of Excel, and of what has no other (MS-OVBA 1.3.1)


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
    if not olefile.isOleFile(str(path)):
        return False
    try:
        with olefile.OleFileIO(str(path)) as container:
            return any(map(container.exists, _STORAGES))
    except (OSError, IndexError, ValueError):
        return False


def _is_program(name: str) -> bool:
    scripts = name.startswith(("Basic/", "Scripts/")) and not name.endswith(("/", "-lc.xml", "-lb.xml"))
    return scripts or name.lower().endswith("/vbaproject.bin")

"""The type of a file by its content. A name's extension only chooses among kinds of text."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from app.parsing import containers, media_types
from app.parsing.archives import member_names, read_member
from app.parsing.encoding import decode_head, looks_like_text
from app.parsing.reasons import parse_failure

_HEAD_BYTES = 64 * 1024
_PDF_HEADER_WITHIN = 1024  # where viewers still accept it (ISO 32000-1, annex H.3.4.1)

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"{\\rtf", media_types.RTF),
    (b"\x89PNG\r\n\x1a\n", media_types.PNG),
    (b"\xff\xd8\xff", media_types.JPEG),
    (b"GIF87a", media_types.GIF),
    (b"GIF89a", media_types.GIF),
    (b"II*\0", media_types.TIFF),
    (b"MM\0*", media_types.TIFF),
)
_BMP_HEADERS = tuple(size.to_bytes(4, "little") for size in (12, 16, 40, 52, 56, 64, 108, 124))
"""What follows the file's own header of 14 bytes in each version of BMP: two letters alone may begin a text."""
_ZIP_PARTS: tuple[tuple[str, str], ...] = (
    ("word/", media_types.DOCX),
    ("xl/workbook.bin", media_types.XLSB),
    ("xl/", media_types.XLSX),
    ("ppt/", media_types.PPTX),
)
_MIMETYPE_MEMBERS: dict[bytes, str] = {
    b"application/epub+zip": media_types.EPUB,
    b"application/vnd.oasis.opendocument.text": media_types.ODT,
    b"application/vnd.oasis.opendocument.spreadsheet": media_types.ODS,
    b"application/vnd.oasis.opendocument.presentation": media_types.ODP,
    b"application/vnd.oasis.opendocument.text-template": media_types.ODT,
    b"application/vnd.oasis.opendocument.spreadsheet-template": media_types.ODS,
    b"application/vnd.oasis.opendocument.presentation-template": media_types.ODP,
}
_OLE_STREAMS: tuple[tuple[str, str], ...] = (
    ("worddocument", media_types.DOC),
    ("workbook", media_types.XLS),
    ("book", media_types.XLS),
    ("powerpoint document", media_types.PPT),
)
_TEXT_EXTENSIONS: dict[str, str] = {
    ".csv": media_types.CSV,
    ".tsv": media_types.TSV,
    ".tab": media_types.TSV,
    ".md": media_types.MARKDOWN,
    ".markdown": media_types.MARKDOWN,
    ".htm": media_types.HTML,
    ".html": media_types.HTML,
    ".xhtml": media_types.HTML,
    ".eml": media_types.EML,
    ".json": media_types.JSON,
    ".geojson": media_types.JSON,
    ".jsonl": media_types.JSONL,
    ".ndjson": media_types.JSONL,
}
# How JSON begins and hardly anything else does: an object's first key, or an array of arrays, objects or texts.
_JSON = re.compile(r'(?:\{\s*(?:"[^"\n]{0,200}"\s*:|\}\s*$)|\[\s*(?:[\[{]\s*["\[{\]}\d-]|"[^"\n]{0,200}"\s*[,\]]))')
_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]{1,60}):[ \t]?\S.*")
_WRITTEN = frozenset(("from", "to", "subject", "date"))
_BY_PROGRAMS = frozenset(
    ("received", "message-id", "mime-version", "return-path", "delivered-to", "content-transfer-encoding")
)


@dataclass(frozen=True, slots=True)
class DetectedType:
    media_type: str
    encrypted_office: bool = False
    """An OOXML file encrypted as a whole (MS-OFFCRYPTO); `media_type` says what holds it, not what is inside."""


def detect(path: Path, file_name: str) -> DetectedType:
    """Runs outside the sandbox as well, so what it reads of a file is bounded.

    Raises `ParseFailed`: `empty_file`, `damaged` (a cut-off archive), `encrypted` (an archive), `too_complex`,
    `unsupported_type` (nothing known).
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        while head and not head.strip(b"\0 \t\r\n"):
            head = file.read(_HEAD_BYTES)
    if not head:
        raise parse_failure("empty_file")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK00PK\x03\x04")):
        return DetectedType(_zip_type(path))
    if head.startswith(containers.MAGIC):
        return _ole_type(path)
    known = _by_magic(head)
    if known:
        return DetectedType(known)
    if b"%PDF-" in head[:_PDF_HEADER_WITHIN]:
        return DetectedType(media_types.PDF)
    if not looks_like_text(head):
        raise parse_failure("unsupported_type")
    return DetectedType(_text_type(head, file_name))


def _by_magic(head: bytes) -> str | None:
    for magic, media_type in _MAGIC:
        if head.startswith(magic):
            return media_type
    if head.startswith(b"BM") and head[14:18] in _BMP_HEADERS:
        return media_types.BMP
    return media_types.WEBP if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else None


def _zip_type(path: Path) -> str:
    names = member_names(path)
    if "[Content_Types].xml" in names:
        for prefix, media_type in _ZIP_PARTS:
            if any(name.startswith(prefix) for name in names):
                return media_type
    mimetype = read_member(path, "mimetype", 100) if "mimetype" in names else None
    other = media_types.EPUB if "META-INF/container.xml" in names else media_types.ZIP
    return _MIMETYPE_MEMBERS.get((mimetype or b"").strip(), other)


def _ole_type(path: Path) -> DetectedType:
    names = containers.names_at_top(path)
    if "encryptedpackage" in names:
        return DetectedType(media_types.OLE, encrypted_office=True)
    return DetectedType(next((media_type for stream, media_type in _OLE_STREAMS if stream in names), media_types.OLE))


def _text_type(head: bytes, file_name: str) -> str:
    """What begins like HTML, a message or JSON is that; else the extension chooses, and plain text is the rest.

    JSON yields to an extension: the first line of a Markdown or delimited text may begin with brackets.
    """
    text = decode_head(head).lstrip("\ufeff \t\r\n")
    start = _skip_prologue(text.lower())
    if start.startswith(("<!doctype html", "<html", "<head", "<body")):
        return media_types.HTML
    if _is_message(text):
        return media_types.EML
    extension = PurePosixPath(file_name.replace("\\", "/")).suffix.lower()
    by_content = media_types.JSON if _JSON.match(text) else media_types.TEXT
    return _TEXT_EXTENSIONS.get(extension, by_content)


def _is_message(text: str) -> bool:
    """Whether it begins with the header of an e-mail: lines a person wrote, and some that only programs write."""
    names: set[str] = set()
    for line in text.splitlines()[:200]:
        if not line.strip():
            break
        field = _HEADER.fullmatch(line.rstrip())
        if field:
            names.add(field[1].lower())
        elif line[0] not in " \t" and not line.rstrip().endswith(":"):
            return False
    return bool(names & _WRITTEN) and bool(names & _BY_PROGRAMS)


def _skip_prologue(text: str) -> str:
    """What follows an XML declaration and comments."""
    while text.startswith(("<?xml", "<!--")):
        end = "?>" if text.startswith("<?") else "-->"
        _, found, rest = text.partition(end)
        if not found:
            break
        text = rest.lstrip()
    return text

"""A file in, a `ParsedDocument` out, in this process. What strangers upload goes through `sandbox.parse_file`."""

import dataclasses
import tempfile
from pathlib import Path

import msoffcrypto
from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError

from app.parsing import media_types
from app.parsing.archives import Declarations, check_archive
from app.parsing.assemble import finish
from app.parsing.detect import detect
from app.parsing.document import ElementKind, ParsedDocument
from app.parsing.reasons import parse_failure
from app.parsing.registry import registry
from app.parsing.source import Source

_ARCHIVES: dict[str, Declarations] = {
    **dict.fromkeys((media_types.DOCX, media_types.XLSX, media_types.XLSB, media_types.PPTX), Declarations.NONE),
    **dict.fromkeys((media_types.ODT, media_types.ODS, media_types.ODP), Declarations.NO_ENTITIES),
    media_types.EPUB: Declarations.ANY,
}


def parse_document(source: Source) -> ParsedDocument:
    """Detects the type, parses, cleans and places. `source.media_type` is ignored.

    Raises `ParseFailed` with a reason code.
    """
    detected = detect(source.path, source.file_name)
    if not detected.encrypted_office:
        return _parse(dataclasses.replace(source, media_type=detected.media_type))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "decrypted"
        _decrypt_office(source, copy)
        inner = detect(copy, source.file_name)
        return _parse(dataclasses.replace(source, path=copy, media_type=inner.media_type))


def _parse(source: Source) -> ParsedDocument:
    parser = registry.parser_for(source.media_type)
    declarations = _ARCHIVES.get(source.media_type)
    if declarations is not None:
        check_archive(source.path, source.limits, declarations)
    document = finish(parser.parse(source))
    if not any(element.text for element in document.elements):
        raise parse_failure("no_text")
    return document if document.title else document.model_copy(update={"title": _title(document, source)})


def _title(document: ParsedDocument, source: Source) -> str:
    """The first top heading, else the file's name."""
    for element in document.elements[:50]:
        if element.kind is ElementKind.HEADING and element.level == 1 and len(element.text) <= 200:
            return element.text
    return source.stem


def _decrypt_office(source: Source, copy: Path) -> None:
    if not source.password:
        raise parse_failure("encrypted")
    try:
        with source.path.open("rb") as file, copy.open("wb") as plain:
            office = msoffcrypto.OfficeFile(file)
            office.load_key(password=source.password)
            office.decrypt(plain)
    except (InvalidKeyError, DecryptionError) as error:
        raise parse_failure("encrypted", "The password given does not open it.") from error
    except (FileFormatError, ParseError, OSError, ValueError) as error:
        raise parse_failure("damaged") from error
